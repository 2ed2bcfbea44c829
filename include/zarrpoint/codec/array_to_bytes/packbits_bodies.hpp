// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_bytes/packbits.hpp>
#include <zarrpoint/core/config.hpp>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------ packbits.hpp

namespace detail {

/// Writes numbers of some bits one after another, the lowest bit first, into zeroed bytes.
class bit_writer {
 public:
  explicit bit_writer(std::byte* to) : to_(to) {}
  void write(std::uint64_t bits, int count) {
    while (count > 0) {
      const int some = std::min(count, 8 - used_);
      const auto low = static_cast<unsigned>(bits & ((1U << some) - 1));
      *to_ |= static_cast<std::byte>(low << used_);
      bits >>= some;
      count -= some;
      used_ += some;
      if (used_ == 8) {
        used_ = 0;
        ++to_;
      }
    }
  }

 private:
  std::byte* to_;
  int used_ = 0;
};

}  // namespace detail

ZARRPOINT_INLINE packbits_codec::layout::layout(const packbits_codec& codec, const dtype& type)
    : size(type.scalar_size()),
      parts(type.size() / size),
      bits(static_cast<int>(type.bits())),
      first(codec.first_bit.value_or(0)),
      width(codec.last_bit.value_or(bits - 1) - first + 1),
      is_signed(type.is_signed_integer() || type.is_time()) {}

namespace detail {

class bit_reader {
 public:
  explicit bit_reader(const std::byte* from) : from_(from) {}
  std::uint64_t read(int count) {
    std::uint64_t bits = 0;
    for (int done = 0; done < count;) {
      const int some = std::min(count - done, 8 - used_);
      const unsigned found = static_cast<unsigned>(*from_) >> used_ & ((1U << some) - 1);
      bits |= std::uint64_t{found} << done;
      done += some;
      used_ += some;
      if (used_ == 8) {
        used_ = 0;
        ++from_;
      }
    }
    return bits;
  }

 private:
  const std::byte* from_;
  int used_ = 0;
};

}  // namespace detail

ZARRPOINT_INLINE void packbits_codec::fields(configuration_fields& all) {
  constexpr std::string_view names[] = {"none", "first_byte", "last_byte", "start_byte",
                                        "end_byte"};
  int where = static_cast<int>(counted);
  all.choice("padding_encoding", where, names, where != 0);
  counted = static_cast<padding>(where > 2 ? where - 2 : where);
  const auto bit = [&](std::string_view key, std::string_view other, std::optional<int>& to) {
    std::optional<int> again;
    all.integer(key, to, 0, 63);
    all.integer(other, again, 0, 63);
    if (to && again) all.fail("\"first_bit\" or \"last_bit\" is given twice");
    if (again) to = again;
  };
  bit("first_bit", "start_bit", first_bit);
  bit("last_bit", "end_bit", last_bit);
}

ZARRPOINT_INLINE result<packbits_codec> packbits_codec::resolve(const tensor_spec& decoded) const {
  const dtype& type = decoded.type;
  if (!type.is_number() && !type.is_time())
    return error{errc::unsupported, "cannot pack elements of type " + std::string(to_string(type))};
  const int bits = static_cast<int>(type.bits());
  if (first_bit.value_or(0) > last_bit.value_or(bits - 1) || last_bit.value_or(0) >= bits)
    return error{errc::invalid_argument, "\"first_bit\" and \"last_bit\" are outside the bits of " +
                                             std::string(to_string(type))};
  return *this;
}

ZARRPOINT_INLINE std::uint64_t packbits_codec::encoded_bound(const tensor_spec& decoded) const {
  const result<std::uint64_t> bits = total_bits(decoded);
  if (!bits) return UINT64_MAX;
  return *bits / 8 + (*bits % 8 == 0 ? 0 : 1) + (counted == padding::none ? 0 : 1);
}

ZARRPOINT_INLINE result<std::size_t> packbits_codec::encode(const host_view& from, mutable_bytes to,
                                                            codec_workspace& scratch) const {
  const detail::filter_dtype same{from.type, false, {}};
  ZARRPOINT_TRY(source, detail::dense_elements(from, same, scratch));
  const layout of(*this, from.type);
  if (!to.empty()) std::memset(to.data(), 0, to.size());
  if (counted != padding::none) {
    ZARRPOINT_TRY(unused, unused_bits(from.spec()));
    to[counted == padding::first_byte ? 0 : to.size() - 1] = unused;
  }
  detail::bit_writer writer(to.data() + (counted == padding::first_byte ? 1 : 0));
  const auto count = static_cast<std::size_t>(source.shape[0]) * of.parts;
  for (std::size_t i = 0; i < count; ++i)
    writer.write(detail::load_native(source.data + i * of.size, of.size) >> of.first, of.width);
  return to.size();
}

ZARRPOINT_INLINE result<void> packbits_codec::decode(bytes_view stored,
                                                     const mutable_host_view& into,
                                                     codec_workspace& scratch) const {
  const std::uint64_t expected = encoded_bound(into.spec());
  if (stored.size() != expected)
    return error{errc::corrupt, std::to_string(stored.size()) + " bytes where " +
                                    to_string(into.spec()) + " has " + std::to_string(expected)};
  if (counted != padding::none) {
    ZARRPOINT_TRY(unused, unused_bits(into.spec()));
    if (stored[counted == padding::first_byte ? 0 : stored.size() - 1] != unused)
      return error{errc::corrupt, "the stored number of unused bits is wrong"};
  }
  const layout of(*this, into.type);
  const detail::filter_dtype same{into.type, false, {}};
  // The bytes are not elements yet; only their address counts.
  const host_view none = dense_view(stored.data(), tensor_spec{same.type, {0}});
  return detail::run_filter(into, same, none, same, scratch, [&](const auto& made, const auto&) {
    detail::bit_reader reader(stored.data() + (counted == padding::first_byte ? 1 : 0));
    const auto count = static_cast<std::size_t>(made.shape[0]) * of.parts;
    for (std::size_t i = 0; i < count; ++i)
      detail::store_native(made.data + i * of.size, of.extended(reader.read(of.width)), of.size);
    return result<void>();
  });
}

ZARRPOINT_INLINE std::uint64_t packbits_codec::layout::extended(std::uint64_t cut) const {
  std::uint64_t value = cut << first;
  const std::uint64_t sign = std::uint64_t{1} << (first + width - 1);
  if (is_signed && (value & sign) != 0) value |= ~(sign - 1);
  return value & (~std::uint64_t{0} >> (64 - bits));
}

ZARRPOINT_INLINE result<std::uint64_t> packbits_codec::total_bits(const tensor_spec& spec) const {
  ZARRPOINT_TRY(count, element_count(spec.shape));
  const layout of(*this, spec.type);
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(count),
                             of.parts * static_cast<std::uint64_t>(of.width), &bits))
    return error{errc::out_of_range, "more bits than can be counted"};
  return bits;
}

ZARRPOINT_INLINE result<std::byte> packbits_codec::unused_bits(const tensor_spec& spec) const {
  ZARRPOINT_TRY(bits, total_bits(spec));
  return static_cast<std::byte>((8 - bits % 8) % 8);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/number_bodies.hpp>
#endif
