// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/elements.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <bit>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------ elements.hpp

namespace detail {

/// Rounds to the bits above the lowest `drop`, 0 < `drop` < the width, ties to even.
template <class U>
U round_bits(U bits, int drop) {
  const U half = static_cast<U>((U{1} << (drop - 1)) - 1 + (bits >> drop & 1));
  return static_cast<U>(static_cast<U>(bits + half) >> drop << drop);
}

/// Rounds an integer to `keep` bits from the highest that is set.
template <class U>
U round_integer_bits(U bits, int keep) {
  const int drop = static_cast<int>(std::bit_width(bits)) - keep;
  if (drop <= 0) return bits;
  const U half = static_cast<U>((U{1} << (drop - 1)) - 1 + (bits >> drop & 1));
  // What would not fit stays the largest multiple.
  const U sum =
      bits > static_cast<U>(~U{0} - half) ? static_cast<U>(~U{0}) : static_cast<U>(bits + half);
  return static_cast<U>(sum >> drop << drop);
}

}  // namespace detail

ZARRPOINT_INLINE void bitround_codec::fields(configuration_fields& all) {
  all.need("keepbits");
  all.integer("keepbits", keepbits, 0, INT32_MAX);
}

ZARRPOINT_INLINE result<bitround_codec> bitround_codec::resolve(const tensor_spec& decoded) const {
  const dtype& type = decoded.type;
  const int mantissa = mantissa_bits(type);
  const bool is_whole = (type.is_integer() && !type.is_below_byte()) || type.is_time();
  if (mantissa == 0 && !is_whole)
    return error{errc::unsupported,
                 "cannot round the bits of elements of type " + std::string(to_string(type))};
  if (is_whole && keepbits == 0)
    return error{errc::invalid_argument,
                 "\"keepbits\" must not be 0 for elements of type " + std::string(to_string(type))};
  return *this;
}

ZARRPOINT_INLINE result<void> bitround_codec::encode(const host_view& from,
                                                     const mutable_host_view& to,
                                                     codec_workspace& scratch) const {
  const detail::filter_dtype same{from.type, false, {}};
  return detail::run_filter(to, same, from, same, scratch, [&](const auto& made, const auto& seen) {
    round(made, seen);
    return result<void>();
  });
}

ZARRPOINT_INLINE result<void> bitround_codec::decode(const host_view& from,
                                                     const mutable_host_view& to,
                                                     codec_workspace&) const {
  copy_elements(to, from);
  return {};
}

ZARRPOINT_INLINE result<std::vector<std::byte>> bitround_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  std::vector<std::byte> out(fill.size());
  round(dense_view(out.data(), {decoded.type, {1}}), dense_view(fill.data(), {decoded.type, {1}}));
  return out;
}

ZARRPOINT_INLINE int bitround_codec::mantissa_bits(const dtype& type) {
  const dtype part = type.component();
  if (part == dtype_kind::float16) return 10;
  if (part == dtype_kind::bfloat16) return 7;
  if (part == dtype_kind::float32) return 23;
  return part == dtype_kind::float64 ? 52 : 0;
}

ZARRPOINT_INLINE void bitround_codec::round(const mutable_host_view& to,
                                            const host_view& from) const {
  const int mantissa = mantissa_bits(from.type);
  const std::size_t part = from.type.scalar_size();
  const std::size_t parts = from.type.size() / part;
  const auto count = static_cast<std::size_t>(from.shape[0]) * parts;
  const auto round_all = [&]<class U>(U) {
    for (std::size_t i = 0; i < count; ++i) {
      U bits = 0;
      std::memcpy(&bits, from.data + i * part, part);
      if (mantissa == 0) {
        bits = detail::round_integer_bits(bits, keepbits);
      } else if (keepbits < mantissa) {
        bits = detail::round_bits(bits, mantissa - keepbits);
      }
      std::memcpy(to.data + i * part, &bits, part);
    }
  };
  switch (part) {
    case 1: return round_all(std::uint8_t{});
    case 2: return round_all(std::uint16_t{});
    case 4: return round_all(std::uint32_t{});
    default: return round_all(std::uint64_t{});
  }
}

ZARRPOINT_INLINE void cast_value_codec::fields(configuration_fields& all) {
  all.put("data_type", to_string(type));
  const json* named = all.find("data_type");
  // The name alone, or an object that has it.
  if (const json* const inner = named == nullptr ? nullptr : named->find("name")) named = inner;
  const std::string* const text = named == nullptr ? nullptr : named->if_string();
  if (text != nullptr) {
    type = parse_dtype(*text).value_or(dtype());
    if (!detail::is_real(type))
      all.fail({errc::unsupported, "cannot cast numbers to " + detail::in_quotes(*text)});
  } else if (all.reads()) {
    all.fail("\"data_type\" is missing");
  }
  using beyond = detail::out_of_range;
  constexpr std::string_view rounding_names[] = {"nearest-even", "towards-zero", "towards-positive",
                                                 "towards-negative", "nearest-away"};
  all.choice("rounding", rules.rounding, rounding_names,
             rules.rounding != detail::rounding::nearest_even);
  constexpr std::string_view beyond_names[] = {"clamp", "wrap"};
  int way = static_cast<int>(rules.beyond) - 1;
  all.choice("out_of_range", way, beyond_names, rules.beyond != beyond::refuse);
  rules.beyond = static_cast<beyond>(way + 1);
  if (rules.beyond == beyond::wrap && !type.is_integer())
    all.fail("\"out_of_range\" \"wrap\" needs an integer type");
  if (const json* const found = all.find("scalar_map")) {
    configuration_fields lists(*found);
    lists.find("encode");
    lists.find("decode");
    all.check(lists.end().at("\"scalar_map\""));
    map = *found;
  }
  if (!map.is_null()) all.put("scalar_map", map);
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

ZARRPOINT_INLINE result<cast_value_codec::scalar_map> cast_value_codec::read_map(
    std::string_view key, const detail::real_format& from, const detail::real_format& to) const {
  scalar_map out;
  const json* const found = map.find(key);
  if (found == nullptr) return out;
  const json::array* const list = found->if_array();
  const error wrong{errc::invalid_argument,
                    "\"scalar_map\" does not hold lists of pairs of numbers"};
  if (list == nullptr) return wrong;
  for (const json& one : *list) {
    const json::array* const pair = one.if_array();
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
          ZARRPOINT_TRY(bits, cast_one(detail::load_native(seen.data + i * from_size, from_size)));
          detail::store_native(made.data + i * to_size, bits, to_size);
        }
        return {};
      });
}

namespace detail {

/// Counts the text that copies of strings will hold.
ZARRPOINT_INLINE result<void> charge_copies(const host_view& strings, codec_workspace& scratch) {
  if (!strings.type.is_variable()) return {};
  return for_each_string<const std::string>(
      strings, [&](const std::string& text) { return scratch.charge_text(text.size()); });
}

}  // namespace detail

ZARRPOINT_INLINE void reshape_codec::fields(configuration_fields& all) {
  if (!all.reads()) {
    json::array list;
    for (const extent& one : shape) {
      list.push_back(one.axes ? json(json::array(one.axes->begin(), one.axes->end()))
                              : json(one.size));
    }
    return all.put("shape", std::move(list));
  }
  const json* const found = all.find("shape");
  const json::array* const list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr || list->size() > max_rank)
    return all.fail("\"shape\" is not a list of extents");
  index_t last_axis = -1;
  std::size_t unknown = 0;
  for (const json& one : *list) {
    result<extent> made = read_extent(one, last_axis);
    if (!made) return all.fail(made.failure());
    if (!made->axes && made->size < 0) ++unknown;
    shape.push_back(*std::move(made));
  }
  if (unknown > 1) all.fail("\"shape\" has more than one -1");
}

ZARRPOINT_INLINE result<reshape_codec> reshape_codec::resolve(const tensor_spec& decoded) const {
  reshape_codec out = *this;
  ZARRPOINT_TRY(made, reshaped(decoded.shape));
  out.resolved = made;
  return out;
}

ZARRPOINT_INLINE std::optional<host_view> reshape_codec::borrow(const host_view& decoded) const {
  if (!is_dense(decoded)) return std::nullopt;
  return dense_view(decoded.data, encoded_spec(decoded.spec()));
}

ZARRPOINT_INLINE std::optional<mutable_host_view> reshape_codec::target(
    const mutable_host_view& into) const {
  if (!is_dense(into)) return std::nullopt;
  return dense_view(into.data, encoded_spec(into.spec()));
}

ZARRPOINT_INLINE result<void> reshape_codec::encode(const host_view& from,
                                                    const mutable_host_view& to,
                                                    codec_workspace& scratch) const {
  return copy(to, from, scratch);
}

ZARRPOINT_INLINE result<void> reshape_codec::decode(const host_view& from,
                                                    const mutable_host_view& to,
                                                    codec_workspace& scratch) const {
  return copy(to, from, scratch);
}

ZARRPOINT_INLINE result<std::vector<std::byte>> reshape_codec::encode_fill(
    bytes_view fill, const tensor_spec&) const {
  return std::vector<std::byte>(fill.begin(), fill.end());
}

ZARRPOINT_INLINE result<reshape_codec::extent> reshape_codec::read_extent(const json& value,
                                                                          index_t& last_axis) {
  const error wrong{errc::invalid_argument,
                    "\"shape\" may hold extents and lists of rising axes only"};
  if (const auto number = value.to_int64()) {
    if (*number == -1 || *number > 0) return extent{*number, std::nullopt};
    return wrong;
  }
  const json::array* const list = value.if_array();
  if (list == nullptr) return wrong;
  std::vector<index_t> axes;
  for (const json& one : *list) {
    const auto axis = one.to_int64();
    if (!axis || *axis <= last_axis || *axis >= static_cast<index_t>(max_rank)) return wrong;
    last_axis = *axis;
    axes.push_back(*axis);
  }
  return extent{0, std::move(axes)};
}

ZARRPOINT_INLINE result<dims> reshape_codec::reshaped(const dims& from) const {
  const error wrong{errc::invalid_argument,
                    "the shape " + to_string(from) + " cannot be reshaped by this \"shape\""};
  ZARRPOINT_TRY(total, element_count(from));
  dims out;
  std::optional<std::size_t> unknown;
  for (const extent& one : shape) {
    index_t size = one.size;
    if (one.axes) {
      dims taken;
      for (const index_t axis : *one.axes) {
        if (axis >= static_cast<index_t>(from.rank())) return wrong;
        taken.push_back(from[static_cast<std::size_t>(axis)]);
      }
      ZARRPOINT_TRY(product, element_count(taken));
      size = product;
    } else if (size < 0) {
      unknown = out.rank();
      size = 1;
    }
    out.push_back(size);
  }
  if (unknown) {
    ZARRPOINT_TRY(known, element_count(out));
    if (known == 0 || total % known != 0) return wrong;
    out[*unknown] = total / known;
  }
  ZARRPOINT_TRY(made, element_count(out));
  if (made != total) return wrong;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!keeps_place(i, from, out)) return wrong;
  }
  return out;
}

ZARRPOINT_INLINE bool reshape_codec::keeps_place(std::size_t i, const dims& from,
                                                 const dims& made) const {
  if (!shape[i].axes || shape[i].axes->empty()) return true;
  const auto first = static_cast<std::size_t>(shape[i].axes->front());
  const auto after = static_cast<std::size_t>(shape[i].axes->back()) + 1;
  return same_count(from, 0, first, made, 0, i) &&
         same_count(from, after, from.rank(), made, i + 1, made.rank());
}

ZARRPOINT_INLINE bool reshape_codec::same_count(const dims& a, std::size_t a_from, std::size_t a_to,
                                                const dims& b, std::size_t b_from,
                                                std::size_t b_to) {
  const auto part = [](const dims& of, std::size_t from, std::size_t to) {
    return element_count(dims::from_range(of.begin() + from, of.begin() + to));
  };
  const result<index_t> x = part(a, a_from, a_to);
  const result<index_t> y = part(b, b_from, b_to);
  return x && y && *x == *y;
}

ZARRPOINT_INLINE result<void> reshape_codec::copy(const mutable_host_view& to,
                                                  const host_view& from,
                                                  codec_workspace& scratch) const {
  ZARRPOINT_CHECK(detail::charge_copies(from, scratch));
  if (is_dense(to)) {
    copy_elements(dense_view(to.data, from.spec()), from);
    return {};
  }
  if (is_dense(from)) {
    copy_elements(to, dense_view(from.data, to.spec()));
    return {};
  }
  if (to.type.is_variable())
    return error{errc::unsupported,
                 "strings can be reshaped only where one side is contiguous in memory"};
  ZARRPOINT_TRY(bytes, byte_count(from.spec()));
  ZARRPOINT_TRY(held, buffer::allocate(bytes, scratch.resource()));
  copy_elements(dense_view(held.bytes().data(), from.spec()), from);
  copy_elements(to, dense_view(std::as_const(held).bytes().data(), to.spec()));
  return {};
}

ZARRPOINT_INLINE void scale_offset_codec::fields(configuration_fields& all) {
  for (const auto& [key, value] : {std::pair{"offset", &offset}, {"scale", &scale}}) {
    if (const json* const found = all.find(key)) *value = *found;
    if (*value) all.put(key, **value);
  }
}

ZARRPOINT_INLINE result<scale_offset_codec> scale_offset_codec::resolve(
    const tensor_spec& decoded) const {
  if (!detail::is_real(decoded.type))
    return error{errc::unsupported,
                 "cannot scale elements of type " + std::string(to_string(decoded.type))};
  const detail::real_format format(decoded.type);
  scale_offset_codec out = *this;
  if (offset) {
    ZARRPOINT_TRY(bits, detail::read_real(*offset, format).at("\"offset\""));
    out.offset_bits = bits;
  }
  if (scale) {
    ZARRPOINT_TRY(bits, detail::read_real(*scale, format).at("\"scale\""));
    if (format.key(bits) == 0 && format.value(bits).magnitude == 0)
      return error{errc::invalid_argument, "\"scale\" is 0"};
    out.scale_bits = bits;
  }
  return out;
}

ZARRPOINT_INLINE result<void> scale_offset_codec::encode(const host_view& from,
                                                         const mutable_host_view& to,
                                                         codec_workspace& scratch) const {
  return run(to, from, scratch, true);
}

ZARRPOINT_INLINE result<void> scale_offset_codec::decode(const host_view& from,
                                                         const mutable_host_view& to,
                                                         codec_workspace& scratch) const {
  return run(to, from, scratch, false);
}

ZARRPOINT_INLINE result<std::vector<std::byte>> scale_offset_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  const detail::real_format format(decoded.type);
  std::vector<std::byte> out(fill.size());
  ZARRPOINT_TRY(bits, step(format, detail::load_native(fill.data(), fill.size()), true));
  detail::store_native(out.data(), bits, out.size());
  return out;
}

ZARRPOINT_INLINE result<void> scale_offset_codec::run(const mutable_host_view& to,
                                                      const host_view& from,
                                                      codec_workspace& scratch,
                                                      bool forward) const {
  const detail::filter_dtype same{from.type, false, {}};
  const detail::real_format format(from.type);
  return detail::run_filter(
      to, same, from, same, scratch, [&](const auto& made, const auto& seen) -> result<void> {
        const std::size_t size = seen.type.size();
        const auto count = static_cast<std::size_t>(seen.shape[0]);
        for (std::size_t i = 0; i < count; ++i) {
          ZARRPOINT_TRY(bits,
                        step(format, detail::load_native(seen.data + i * size, size), forward));
          detail::store_native(made.data + i * size, bits, size);
        }
        return {};
      });
}

ZARRPOINT_INLINE result<std::uint64_t> scale_offset_codec::step(const detail::real_format& format,
                                                                std::uint64_t bits,
                                                                bool forward) const {
  return format.is_float ? step_float(format, bits, forward) : step_integer(format, bits, forward);
}

ZARRPOINT_INLINE result<std::uint64_t> scale_offset_codec::step_float(
    const detail::real_format& format, std::uint64_t bits, bool forward) const {
  double value = format.read_float(bits);
  const double by = scale ? format.read_float(scale_bits) : 1;
  const double less = offset ? format.read_float(offset_bits) : 0;
  bool holds = true;
  const auto round = [&](double exact) {
    const bool was_number = std::isfinite(value);
    value = format.read_float(format.write_float(exact));
    if (!was_number) return;
    // Without infinities what is too large would become the largest number.
    holds = holds && std::isfinite(value) && (format.has_nan || std::fabs(exact) <= format.max);
  };
  if (forward) {
    if (offset) round(value - less);
    if (scale) round(value * by);
  } else {
    if (scale) round(value / by);
    if (offset) round(value + less);
  }
  if (!holds) return not_held(format, forward);
  return offset || scale ? format.write_float(value) : bits & format.mask();
}

ZARRPOINT_INLINE result<std::uint64_t> scale_offset_codec::step_integer(
    const detail::real_format& format, std::uint64_t bits, bool forward) const {
  __extension__ using wide = __int128;
  const auto widened = [&](std::uint64_t of) {
    const std::uint64_t whole = format.extended(of);
    return format.is_signed ? static_cast<wide>(static_cast<std::int64_t>(whole))
                            : static_cast<wide>(whole);
  };
  const wide low = format.is_signed ? -(wide{1} << (format.width - 1)) : 0;
  const wide high = low + static_cast<wide>(format.mask());
  const auto holds = [&](wide value) { return value >= low && value <= high; };
  wide value = widened(bits);
  const wide less = offset ? widened(offset_bits) : 0;
  const wide by = scale ? widened(scale_bits) : 1;
  if (forward) {
    value -= less;
    if (!holds(value)) return not_held(format, forward);
    // Two numbers of 64 bits without a sign may have a product of 128.
    if (__builtin_mul_overflow(value, by, &value)) return not_held(format, forward);
  } else {
    if (value % by != 0) return not_held(format, forward);
    value /= by;
    if (!holds(value)) return not_held(format, forward);
    value += less;
  }
  if (!holds(value)) return not_held(format, forward);
  return static_cast<std::uint64_t>(value) & format.mask();
}

ZARRPOINT_INLINE error scale_offset_codec::not_held(const detail::real_format& format,
                                                    bool forward) {
  return {forward ? errc::invalid_argument : errc::corrupt,
          "a scaled number does not fit " + std::string(to_string(format.type))};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/number_bodies.hpp>
#endif
