// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/document_keys.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

ZARRPOINT_INLINE result<void> document_budget::charge(std::uint64_t size) {
  if (size > limits.max_text - text)
    return error{errc::resource_limit,
                 "more than " + std::to_string(limits.max_text) + " bytes of text and tensors"};
  text += static_cast<std::size_t>(size);
  return {};
}

ZARRPOINT_INLINE bool is_document_word(const node& of) {
  const std::string* kind = of.find("$")->if_string();
  const std::size_t members = of.if_object()->size();
  if (kind == nullptr) return false;
  if (*kind == "hole") return members == 1;
  const node* text = of.find(*kind == "float64" ? "bits" : "base64");
  if (members != 2 || text == nullptr || text->if_string() == nullptr) return false;
  const std::string& is = *text->if_string();
  if (*kind == "float64")
    return is.size() == 16 && is.find_first_not_of("0123456789abcdef") == is.npos;
  return *kind == "text" && zarrpoint::detail::from_base64(is).has_value();
}

ZARRPOINT_INLINE std::optional<std::string> key_text(const pickle_value& key) {
  if (const std::string* name = key.if_string()) return *name;
  if (const auto truth = key.to_bool()) return *truth ? "true" : "false";
  if (const auto narrow = key.to_int64()) return std::to_string(*narrow);
  if (const auto number = key.to_double(); number && std::isfinite(*number))
    return dump_json(node(*number), json_style::compact);
  if (key.is_none()) return "null";
  return std::nullopt;
}

ZARRPOINT_INLINE result<document_keys> document_keys::of(const pickle_value& value,
                                                         document_budget& budget) {
  document_keys out;
  const std::size_t charged = budget.text;
  std::unordered_map<std::string, std::pair<std::size_t, pickle_kind>> places;
  const auto not_text = [&] {
    budget.text = charged;
    return document_keys{.texts = {}, .members = {}, .are_text = false};
  };
  for (std::size_t i = 0; i < value.member_count(); ++i) {
    const pickle_value key = value.key(i);
    auto name = key_text(key);
    if (!name) return not_text();
    ZARRPOINT_CHECK(budget.charge(name->size()));
    const auto [place, is_new] = places.try_emplace(*name, out.texts.size(), key.kind());
    // Keys of different kinds may have one text.
    if (place->second.second != key.kind()) return not_text();
    if (is_new) {
      out.texts.push_back(*std::move(name));
      out.members.push_back(i);
    } else {
      out.members[place->second.first] = i;
      ++budget.values;  // the value before it, which nobody converts, so that walks are bounded
    }
  }
  for (const std::string& name : out.texts)
    if (is_escaped(name) && places.contains("$" + name)) return not_text();
  return out;
}

ZARRPOINT_INLINE bool is_escaped(const std::string& name) {
  return name.starts_with('$') && !name.starts_with("$$");
}

}}}}  // namespace zarrpoint::v0::torch::detail
