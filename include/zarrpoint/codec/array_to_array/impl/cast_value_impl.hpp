// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/cast_value.hpp>
#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/real_cast.hpp>
#include <zarrpoint/core/printable.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<cast_value_codec> cast_value_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"data_type", "rounding",
                                                                   "out_of_range", "scalar_map"}));
  cast_value_codec out;
  const node* named = reader.find("data_type");
  // The name alone, or an object that has it.
  if (const node* const inner = named == nullptr ? nullptr : named->find("name")) named = inner;
  const std::string* const text = named == nullptr ? nullptr : named->if_string();
  if (text == nullptr) return error{errc::invalid_argument, "\"data_type\" is missing"};
  out.type = parse_dtype(*text).value_or(dtype());
  if (!detail::is_real(out.type))
    return error{errc::unsupported, "cannot cast numbers to " + detail::in_quotes(*text)};
  ZARRPOINT_TRY(rounding, reader.text("rounding"));
  ZARRPOINT_TRY(out_of_range, reader.text("out_of_range"));
  ZARRPOINT_TRY(rules, read_rules(rounding.value_or("nearest-even"), out_of_range.value_or("")));
  out.rules = rules;
  if (out.rules.beyond == detail::out_of_range::wrap && !out.type.is_integer())
    return error{errc::invalid_argument, "\"out_of_range\" \"wrap\" needs an integer type"};
  if (const node* const found = reader.find("scalar_map")) {
    ZARRPOINT_CHECK(configuration_reader::open(*found, {"encode", "decode"}).at("\"scalar_map\""));
    out.map = *found;
  }
  return out;
}

ZARRPOINT_INLINE node cast_value_codec::configuration() const {
  node out{node::object{}};
  out.set("data_type", to_string(type));
  if (rules.rounding != detail::rounding::nearest_even)
    out.set("rounding", rounding_names[static_cast<std::size_t>(rules.rounding)]);
  if (rules.beyond == detail::out_of_range::clamp) out.set("out_of_range", "clamp");
  if (rules.beyond == detail::out_of_range::wrap) out.set("out_of_range", "wrap");
  if (!map.is_null()) out.set("scalar_map", map);
  return out;
}

ZARRPOINT_INLINE result<cast_value_codec> cast_value_codec::resolve(
    const tensor_spec& decoded) const {
  if (!detail::is_real(decoded.type))
    return error{errc::unsupported,
                 "cannot cast elements of type " + std::string(to_string(decoded.type))};
  cast_value_codec out = *this;
  const detail::real_format outer(decoded.type);
  const detail::real_format inner(type);
  ZARRPOINT_TRY(forward, read_map("encode", outer, inner));
  ZARRPOINT_TRY(backward, read_map("decode", inner, outer));
  out.encode_map = std::move(forward);
  out.decode_map = std::move(backward);
  return out;
}

ZARRPOINT_INLINE result<void> cast_value_codec::encode(const host_view& from,
                                                       const mutable_host_view& to,
                                                       codec_workspace& scratch) const {
  return run(to, from, scratch, encode_map, errc::invalid_argument);
}

ZARRPOINT_INLINE result<void> cast_value_codec::decode(const host_view& from,
                                                       const mutable_host_view& to,
                                                       codec_workspace& scratch) const {
  return run(to, from, scratch, decode_map, errc::corrupt);
}

ZARRPOINT_INLINE result<std::vector<std::byte>> cast_value_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  std::vector<std::byte> out(type.size());
  codec_workspace scratch;
  ZARRPOINT_CHECK(encode(dense_view(fill.data(), tensor_spec{decoded.type, {}}),
                         dense_view(out.data(), tensor_spec{type, {}}), scratch));
  return out;
}

ZARRPOINT_INLINE result<detail::cast_rules> cast_value_codec::read_rules(std::string_view rounding,
                                                                         std::string_view beyond) {
  detail::cast_rules out;
  const auto* const found =
      std::find(std::begin(rounding_names), std::end(rounding_names), rounding);
  if (found == std::end(rounding_names))
    return error{errc::invalid_argument, "\"rounding\" is " + detail::in_quotes(rounding)};
  out.rounding = static_cast<detail::rounding>(found - std::begin(rounding_names));
  if (beyond == "clamp") {
    out.beyond = detail::out_of_range::clamp;
  } else if (beyond == "wrap") {
    out.beyond = detail::out_of_range::wrap;
  } else if (!beyond.empty()) {
    return error{errc::invalid_argument, "\"out_of_range\" is neither \"clamp\" nor \"wrap\""};
  }
  return out;
}

ZARRPOINT_INLINE result<cast_value_codec::scalar_map> cast_value_codec::read_map(
    std::string_view key, const detail::real_format& from, const detail::real_format& to) const {
  scalar_map out;
  const node* const found = map.find(key);
  if (found == nullptr) return out;
  const node::array* const list = found->if_array();
  const error wrong{errc::invalid_argument,
                    "\"scalar_map\" does not hold lists of pairs of numbers"};
  if (list == nullptr) return wrong;
  for (const node& one : *list) {
    const node::array* const pair = one.if_array();
    if (pair == nullptr || pair->size() != 2) return wrong;
    ZARRPOINT_TRY(input, detail::read_real((*pair)[0], from).at("\"scalar_map\""));
    ZARRPOINT_TRY(output, detail::read_real((*pair)[1], to).at("\"scalar_map\""));
    out.emplace_back(from.key(input), output);
  }
  // The first of equal ones counts.
  std::vector<std::size_t> order(out.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(out[a].first, a) < std::pair(out[b].first, b);
  });
  scalar_map sorted;
  for (const std::size_t i : order) {
    if (sorted.empty() || sorted.back().first != out[i].first) sorted.push_back(out[i]);
  }
  return sorted;
}

ZARRPOINT_INLINE result<void> cast_value_codec::run(const mutable_host_view& to,
                                                    const host_view& from, codec_workspace& scratch,
                                                    const scalar_map& known, errc code) const {
  const detail::real_format source(from.type);
  const detail::real_format target(to.type);
  const auto cast_one = [&](std::uint64_t bits) -> result<std::uint64_t> {
    if (!known.empty()) {
      const std::uint64_t key = source.key(bits);
      const auto at = std::lower_bound(
          known.begin(), known.end(), key,
          [](const auto& entry, std::uint64_t wanted) { return entry.first < wanted; });
      if (at != known.end() && at->first == key) return at->second;
    }
    if (const auto made = detail::cast_real(source.value(bits), target, rules)) return *made;
    return error{code, "a number of type " + std::string(to_string(source.type)) +
                           " does not fit " + std::string(to_string(target.type))};
  };
  return detail::run_filter(
      to, {to.type, false, {}}, from, {from.type, false, {}}, scratch,
      [&](const auto& made, const auto& seen) -> result<void> {
        const auto count = static_cast<std::size_t>(seen.shape[0]);
        const std::size_t from_size = seen.type.size();
        const std::size_t to_size = made.type.size();
        for (std::size_t i = 0; i < count; ++i) {
          ZARRPOINT_TRY(bits, cast_one(detail::load_bits(seen.data + i * from_size, from_size)));
          detail::store_bits(made.data + i * to_size, bits, to_size);
        }
        return {};
      });
}

}}  // namespace zarrpoint::v0
