// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/torch/document_keys.hpp>
#include <zarrpoint/interop/torch/document_value.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

ZARRPOINT_INLINE bool is_value_word(const node& of) {
  return of.if_object() != nullptr && of.find("$") != nullptr && is_document_word(of) &&
         *of.find("$")->if_string() != "hole";
}

/// The number of a word that has bits.
ZARRPOINT_INLINE double number_of_word(const node& word) {
  const std::string& digits = *word.find("bits")->if_string();
  std::uint64_t bits = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  return std::bit_cast<double>(bits);
}

/// The bytes of a word that has text.
ZARRPOINT_INLINE value bytes_of_word(const node& word) {
  const auto text = zarrpoint::detail::from_base64(*word.find("base64")->if_string());
  const bytes_view bytes = as_bytes(*text);
  return value(value::bytes(bytes.begin(), bytes.end()));
}

ZARRPOINT_INLINE bool is_tensor_word(const node& of) {
  const node* const word = of.find("$");
  return word != nullptr && word->if_string() != nullptr && *word->if_string() == "tensor" &&
         of.if_object()->size() == 4 && of.find("dtype") != nullptr &&
         of.find("shape") != nullptr && of.find("base64") != nullptr;
}

ZARRPOINT_INLINE void unescape_keys(node::object& members) {
  const auto is_given = [](const std::string& key) {
    return key.starts_with("$$") && !key.starts_with("$$$");
  };
  const auto renamed = [&] {
    node::object out;
    for (const node::member& one : members)
      out.push_back({is_given(one.key) ? one.key.substr(1) : one.key, one.value});
    return node(std::move(out));
  };
  const auto is_at = [&](std::string_view key) {
    return std::any_of(members.begin(), members.end(),
                       [&](const node::member& one) { return one.key == key; });
  };
  if (members.size() <= 2 && is_at("$$") && is_document_word(renamed())) return;
  for (node::member& one : members)
    if (is_given(one.key) && !is_at(std::string_view(one.key).substr(1))) one.key.erase(0, 1);
}

inline node& node_of(node& element) { return element; }
inline node& node_of(node::member& member) { return member.value; }
inline std::string place_of(const node&, std::size_t i) { return "[" + std::to_string(i) + "]"; }
inline std::string place_of(const node::member& member, std::size_t) {
  return zarrpoint::detail::in_quotes(member.key);
}

result<std::optional<value>> value_unless_plain(node& from);

/// What becomes of the elements or members of a document: nothing while all of them are plain.
template <class Elements, class Make>
result<std::optional<value>> values_unless_plain(Elements& from, const Make& make) {
  using out_type = std::vector<decltype(make(from[0], value()))>;
  std::optional<out_type> out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    node& each = node_of(from[i]);
    auto made = value_unless_plain(each);
    if (!made) return std::move(made).failure().at(place_of(from[i], i));
    if (!*made && !out) continue;
    if (!out) {
      out.emplace();
      for (std::size_t j = 0; j < i; ++j)
        out->push_back(make(from[j], value(std::move(node_of(from[j])))));
    }
    out->push_back(make(from[i], *made ? **std::move(made) : value(std::move(each))));
  }
  if (!out) return std::optional<value>();
  return std::optional(value(*std::move(out)));
}

/// What a document becomes that no node can be; nothing for others, in which numbers and keys are
/// then what Python has.
ZARRPOINT_INLINE result<std::optional<value>> value_unless_plain(node& from) {
  if (node::array* const elements = from.if_array())
    return values_unless_plain(*elements, [](node&, value to) { return to; });
  node::object* const members = from.if_object();
  if (members == nullptr) return std::optional<value>();
  if (is_tensor_word(from))
    return error{errc::unsupported, "a tensor in a document has no place among values of Python"};
  if (is_value_word(from)) {
    if (from.find("bits") == nullptr) return std::optional(bytes_of_word(from));
    from = node(number_of_word(from));
    return std::optional<value>();
  }
  unescape_keys(*members);
  return values_unless_plain(*members, [](node::member& one, value to) {
    return value::member{std::move(one.key), std::move(to)};
  });
}

ZARRPOINT_INLINE result<value> document_value(node from) {
  ZARRPOINT_TRY(made, value_unless_plain(from));
  return made ? *std::move(made) : value(std::move(from));
}

}}}}  // namespace zarrpoint::v0::torch::detail
