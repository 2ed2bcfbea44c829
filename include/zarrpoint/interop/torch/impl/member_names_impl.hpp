// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/torch/document_keys.hpp>
#include <zarrpoint/interop/torch/member_names.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

ZARRPOINT_INLINE std::string_view python_class(pickle_kind kind) {
  switch (kind) {
    case pickle_kind::none: return "NoneType";
    case pickle_kind::boolean: return "bool";
    case pickle_kind::integer: return "int";
    case pickle_kind::real: return "float";
    case pickle_kind::string: return "str";
    case pickle_kind::bytes: return "bytes";
    case pickle_kind::tuple: return "tuple";
    default: return "object";
  }
}

ZARRPOINT_INLINE error names_too_long() {
  return {errc::resource_limit, "the names in it take more than its limits allow"};
}

/// The text of any key: of one that JSON has not, that of its document, which is charged.
ZARRPOINT_INLINE result<std::string> name_of_key(const pickle_value& key, std::uint64_t& left) {
  if (auto text = key_text(key)) return *std::move(text);
  constexpr std::size_t most = 1024;
  const auto document =
      pickle_to_document(key, {.max_depth = 8, .max_values = most, .max_text = most});
  std::string out = document ? dump_json(*document, json_style::compact) : "(key)";
  const std::uint64_t cost = document ? out.size() : most;
  if (cost > left) return names_too_long();
  left -= cost;
  return out;
}

ZARRPOINT_INLINE result<std::vector<named_member>> named_members(const pickle_value& dict,
                                                                 std::uint64_t& left) {
  std::vector<named_member> out;
  std::unordered_map<std::size_t, std::size_t> values;  // of the keys, with their places in `out`
  for (std::size_t i = 0; i < dict.member_count(); ++i) {
    const auto [place, is_new] = values.try_emplace(dict.key(i).index(), out.size());
    is_new ? out.push_back({{}, i}) : void(out[place->second].member = i);
  }
  std::unordered_map<std::string, unsigned> kinds;  // of the keys of a text, as bits
  const auto bit = [](const pickle_value& key) { return 1U << static_cast<unsigned>(key.kind()); };
  for (named_member& one : out) {
    const pickle_value key = dict.key(one.member);
    ZARRPOINT_TRY(name, name_of_key(key, left));
    one.name = std::move(name);
    kinds[one.name] |= bit(key);
  }
  std::unordered_map<std::string, std::size_t> places;
  std::size_t count = 0;
  for (named_member& one : out) {
    const pickle_value key = dict.key(one.member);
    if (key.kind() != pickle_kind::string && kinds[one.name] != bit(key))
      one.name.append(" (").append(python_class(key.kind())).append(")");
    const auto [place, is_new] = places.try_emplace(one.name, count);
    // Other keys may differ although their texts do not: tensors, or what is too long for a text.
    if (!is_new && key_text(key) && dict.key(out[place->second].member).kind() == key.kind()) {
      out[place->second].member = one.member;
      continue;
    }
    if (&out[count] != &one) out[count] = std::move(one);
    ++count;
  }
  out.resize(count);
  return out;
}

}}}}  // namespace zarrpoint::v0::torch::detail
