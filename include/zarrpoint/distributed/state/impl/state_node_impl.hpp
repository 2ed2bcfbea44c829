// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_node.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE node escaped(std::string kind) {
  node out;
  out.set("$", std::move(kind));
  return out;
}

ZARRPOINT_INLINE node value_to_node(const node& value) {
  if (const double* const number = value.if_double();
      number != nullptr && !std::isfinite(*number)) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr int top = 60;
    const auto bits = std::bit_cast<std::uint64_t>(*number);
    std::string text;
    for (int shift = top; shift >= 0; shift -= 4) text += digits[(bits >> shift) & 15];
    node out = escaped("float64");
    out.set("bits", std::move(text));
    return out;
  }
  if (const std::string* text = value.if_string(); text != nullptr && !is_utf8(*text)) {
    node out = escaped("text");
    out.set("base64", detail::to_base64(as_bytes(*text)));
    return out;
  }
  return value;
}

ZARRPOINT_INLINE result<node> state_to_node(const state& of, state_place& place) {
  if (const state::map* members = of.if_map()) {
    node::object out;
    out.reserve(members->size());
    for (const auto& [key, child] : *members) {
      if (child.if_local() != nullptr) continue;
      if (!is_utf8(key))
        return place.failure(errc::invalid_argument, "a key that is not UTF-8 cannot be stored");
      ZARRPOINT_TRY(
          made, place.within(key, [&, &of_key = child] { return state_to_node(of_key, place); }));
      out.push_back({key.starts_with('$') ? "$" + key : key, std::move(made)});
    }
    return node(std::move(out));
  }
  if (const state::list* elements = of.if_list()) {
    node::array out;
    out.reserve(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      ZARRPOINT_TRY(made, place.within(i, [&] { return state_to_node((*elements)[i], place); }));
      out.push_back(std::move(made));
    }
    return node(std::move(out));
  }
  if (const node* value = of.if_value()) return value_to_node(*value);
  if (of.is_hole() || of.if_local() != nullptr) return escaped("hole");
  return place.failure(errc::invalid_argument, "a " + std::string(to_string(of.kind())) +
                                                   " is not part of the common state");
}

ZARRPOINT_INLINE std::optional<double> double_of_bits(std::string_view text) {
  constexpr std::size_t digits = 16;
  if (text.size() != digits) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) return std::nullopt;
    bits = bits << 4 | static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return std::bit_cast<double>(bits);
}

/// A tensor whose elements stand in the document: numbers and truth values.
ZARRPOINT_INLINE std::optional<tensor> tensor_of_document(const node& from) {
  const node* const type = from.find("dtype");
  const node* const shape = from.find("shape");
  const node* const coded = from.find("base64");
  if (from.if_object()->size() != 4 || type == nullptr || type->if_string() == nullptr ||
      shape == nullptr || shape->if_array() == nullptr || shape->if_array()->size() > max_rank ||
      coded == nullptr || coded->if_string() == nullptr)
    return std::nullopt;
  const auto known = parse_dtype(*type->if_string());
  if (!known || known->is_variable() || known->is_below_byte() || known->record() != nullptr)
    return std::nullopt;
  tensor_spec spec{*known, {}};
  for (const node& extent : *shape->if_array()) {
    const auto number = extent.to_int64();
    if (!number || *number < 0) return std::nullopt;
    spec.shape.push_back(*number);
  }
  const auto size = byte_count(spec);
  if (!size || base64_decoded_size(*coded->if_string()) != *size) return std::nullopt;
  auto out = tensor::make(spec);
  if (!out) return std::nullopt;
  const mutable_bytes elements(out->mutable_view().data, static_cast<std::size_t>(*size));
  if (!base64_decode(*coded->if_string(), elements.data())) return std::nullopt;
  if (spec.type == dtype(dtype_kind::bool_)) {
    for (const std::byte each : elements)
      if (each > std::byte{1}) return std::nullopt;
  }
  const std::size_t scalar = spec.type.scalar_size();
  if (native_endian != endian::little && scalar > 1) byteswap_elements(elements, scalar);
  return *std::move(out);
}

/// Of an object with the member "$".
ZARRPOINT_INLINE result<state> state_of_escape(const node& from, const state_place& place) {
  const std::string* const kind = from.find("$")->if_string();
  const std::size_t members = from.if_object()->size();
  const auto text_at = [&](const char* key) -> const std::string* {
    const node* const there = members == 2 ? from.find(key) : nullptr;
    return there != nullptr ? there->if_string() : nullptr;
  };
  if (kind != nullptr && *kind == "hole" && members == 1) return state();
  if (kind != nullptr && *kind == "float64") {
    const std::string* const bits = text_at("bits");
    if (const auto number = bits != nullptr ? double_of_bits(*bits) : std::nullopt)
      return state(*number);
  }
  if (kind != nullptr && *kind == "text") {
    const std::string* const coded = text_at("base64");
    if (auto text = coded != nullptr ? detail::from_base64(*coded) : std::nullopt)
      return state(std::move(*text));
  }
  if (kind != nullptr && *kind == "tensor") {
    // What is in a document is small: its text has been read already.
    if (auto made = tensor_of_document(from)) {
      const std::string key = place.path().empty() ? "tensor" : place.path();
      if (auto whole = shard(key, *std::move(made))) return state(*whole);
    }
  }
  return place.failure(errc::corrupt, "an object has a member \"$\" with an unknown value");
}

ZARRPOINT_INLINE result<state> node_to_state(const node& from, state_place& place) {
  if (const node::object* members = from.if_object()) {
    if (from.find("$") != nullptr) return state_of_escape(from, place);
    state::map out;
    for (const node::member& m : *members) {
      const std::string_view key = std::string_view(m.key).substr(m.key.starts_with('$') ? 1 : 0);
      if (m.key.starts_with('$') && !key.starts_with('$'))
        return place.failure(errc::corrupt,
                             "the key " + in_quotes(m.key) +
                                 " is not known: keys that begin with \"$\" are reserved");
      ZARRPOINT_TRY(made, place.within(key, [&] { return node_to_state(m.value, place); }));
      if (!out.try_emplace(std::string(key), std::move(made)).second)
        return place.failure(errc::corrupt, "the key " + in_quotes(m.key) + " is there twice");
    }
    return state(std::move(out));
  }
  if (const node::array* elements = from.if_array()) {
    state::list out;
    out.reserve(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      ZARRPOINT_TRY(made, place.within(i, [&] { return node_to_state((*elements)[i], place); }));
      out.push_back(std::move(made));
    }
    return state(std::move(out));
  }
  if (const std::string* text = from.if_string()) return state(*text);
  if (const bool* truth = from.if_bool()) return state(*truth);
  if (const auto number = from.to_int64()) return state(*number);
  if (const auto number = from.to_uint64()) return state(*number);
  if (const auto number = from.to_double()) return state(*number);
  return state(nullptr);
}

}  // namespace detail

ZARRPOINT_INLINE result<node> to_node(const state& of) {
  detail::state_place place;
  return detail::state_to_node(of, place);
}

namespace detail {

ZARRPOINT_INLINE result<state> state_from_node(const node& from) {
  detail::state_place place;
  return detail::node_to_state(from, place);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
