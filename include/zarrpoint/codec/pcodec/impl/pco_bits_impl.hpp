// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_bits.hpp>

#include <algorithm>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::optional<pco_type> pco_type_of(const dtype& type) {
  using enum pco_order;
  switch (type.kind()) {
    case dtype_kind::uint8: return pco_type{10, 1, unsigned_integer};
    case dtype_kind::int8: return pco_type{11, 1, signed_integer};
    case dtype_kind::uint16: return pco_type{7, 2, unsigned_integer};
    case dtype_kind::int16: return pco_type{8, 2, signed_integer};
    case dtype_kind::float16: return pco_type{9, 2, floating};
    case dtype_kind::uint32: return pco_type{1, 4, unsigned_integer};
    case dtype_kind::int32: return pco_type{3, 4, signed_integer};
    case dtype_kind::float32:
    case dtype_kind::complex64: return pco_type{5, 4, floating};  // its two parts
    case dtype_kind::uint64: return pco_type{2, 8, unsigned_integer};
    case dtype_kind::int64:
    case dtype_kind::datetime64:
    case dtype_kind::timedelta64: return pco_type{4, 8, signed_integer};
    case dtype_kind::float64:
    case dtype_kind::complex128: return pco_type{6, 8, floating};
    default: return std::nullopt;
  }
}

ZARRPOINT_INLINE result<std::uint64_t> pco_reader::read(unsigned width) {
  if (width > left()) return truncated();
  std::uint64_t out = 0;
  for (unsigned done = 0; done < width;) {
    const auto byte = std::to_integer<std::uint64_t>(from_[static_cast<std::size_t>(at_ / 8)]);
    const auto past = static_cast<unsigned>(at_ % 8);
    const unsigned some = std::min(8 - past, width - done);
    out |= (byte >> past & ((1U << some) - 1)) << done;
    done += some;
    at_ += some;
  }
  return out;
}

ZARRPOINT_INLINE result<void> pco_reader::align() {
  ZARRPOINT_TRY(rest, read(static_cast<unsigned>((8 - at_ % 8) % 8)));
  if (rest != 0) return error{errc::corrupt, "bits of a stream of pcodec that must be 0 are not"};
  return {};
}

ZARRPOINT_INLINE const std::byte* pco_reader::ahead(std::size_t bytes, std::size_t& offset) {
  const auto first = static_cast<std::size_t>(at_ / 8);
  offset = static_cast<std::size_t>(at_ % 8);
  const bytes_view rest = from_.subspan(first);
  if (rest.size() >= bytes) return rest.data();
  ZARRPOINT_ASSERT(bytes <= max_ahead);
  if (!rest.empty()) std::memcpy(tail_, rest.data(), rest.size());
  std::memset(tail_ + rest.size(), 0, bytes - rest.size());
  return tail_;
}

ZARRPOINT_INLINE result<void> pco_reader::skip_to(std::size_t offset) {
  const std::uint64_t to = at_ / 8 * 8 + offset;
  if (to > std::uint64_t{from_.size()} * 8) return truncated();
  at_ = to;
  return {};
}

ZARRPOINT_INLINE void pco_writer::write(std::uint64_t bits, unsigned width) noexcept {
  // At most 56 bits fit in beside those of a byte that is not full.
  if (width > 56) {
    write(bits & 0xffffffff, 32);
    bits >>= 32;
    width -= 32;
  }
  word_ |= bits << used_;
  used_ += width;
  store_le<std::uint64_t>(to_, word_);
  const unsigned whole = used_ / 8;
  to_ += whole;
  word_ >>= whole * 8;
  used_ %= 8;
}

ZARRPOINT_INLINE void pco_writer::align() noexcept {
  if (used_ != 0) write(0, 8 - used_);
}

}}}  // namespace zarrpoint::v0::detail
