// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Elements of fewer than eight bits (`F4`, `F6_E2M3`, `F6_E3M2`). A file holds them without gaps,
// the first in the lowest bits of its byte, as PyTorch has its `float4_e2m1fn_x2`. The format says
// that of no type. In memory each has a byte of its own.

namespace zarrpoint { inline namespace v0 { namespace safetensors { namespace detail {

/// The bytes that a file has for elements. Errors: `unsupported` where they do not fill whole
/// bytes, which the format refuses; those of `byte_count`.
inline result<std::uint64_t> stored_byte_count(const tensor_spec& spec) {
  ZARRPOINT_TRY(bytes, byte_count(spec));
  if (!spec.type.is_below_byte()) return bytes;
  ZARRPOINT_TRY(bits, checked_mul<std::uint64_t>(bytes, spec.type.bits()));
  if (bits % 8 == 0) return bits / 8;
  return error{errc::unsupported, to_string(spec) + " does not fill whole bytes, as safetensors " +
                                      "wants it; another dtype has wider elements"};
}

/// The element at `index` of those that `from` begins with.
inline std::byte packed_element(bytes_view from, unsigned bits, std::uint64_t index) {
  const std::uint64_t bit = index * bits;
  const auto at = static_cast<std::size_t>(bit / 8);
  const auto shift = static_cast<unsigned>(bit % 8);
  unsigned both = std::to_integer<unsigned>(from[at]);
  if (shift + bits > 8) both |= std::to_integer<unsigned>(from[at + 1]) << 8;
  return static_cast<std::byte>((both >> shift) & ((1U << bits) - 1));
}

/// Elements from `first` on, of those that begin at `offset` of an object.
inline result<void> read_packed(const blob& from, std::uint64_t offset, dtype type,
                                std::uint64_t first, mutable_bytes into) {
  const auto bits = static_cast<unsigned>(type.bits());
  const std::uint64_t base = first / 8 * 8;  // eight elements fill whole bytes
  const std::uint64_t bytes = ceil_div((first - base + into.size()) * bits, 8);
  ZARRPOINT_TRY(packed, buffer::allocate(static_cast<std::size_t>(bytes)));
  ZARRPOINT_CHECK(from.read(offset + base / 8 * bits, packed.bytes()));
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = packed_element(packed.bytes(), bits, first - base + i);
  return {};
}

/// An object of packed elements as one that has a byte for each.
class unpacked_blob final : public blob {
 public:
  using blob::read;
  unpacked_blob(std::unique_ptr<blob> from, dtype type, std::uint64_t count, std::string name)
      : from_(std::move(from)), type_(type), count_(count), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return count_; }
  std::string name() const override { return name_; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    if (offset > count_ || into.size() > count_ - offset)
      return error{errc::out_of_range, name_ + ": it has " + std::to_string(count_) + " bytes"};
    constexpr std::size_t most = std::size_t{4} << 20;
    for (std::size_t at = 0; at < into.size(); at += most)
      ZARRPOINT_CHECK(read_packed(*from_, 0, type_, offset + at,
                                  into.subspan(at, std::min(most, into.size() - at))));
    return {};
  }

 private:
  std::unique_ptr<blob> from_;
  dtype type_;
  std::uint64_t count_;
  std::string name_;
};

/// Packs elements as they come.
class packer {
 public:
  explicit packer(dtype type) : bits_(static_cast<unsigned>(type.bits())) {}

  /// The bytes that are full with these elements. The last ones are, if all fill whole bytes.
  std::vector<std::byte> add(bytes_view elements) {
    std::vector<std::byte> out;
    out.reserve(elements.size() * bits_ / 8 + 1);
    for (const std::byte one : elements) {
      held_ |= (std::to_integer<unsigned>(one) & ((1U << bits_) - 1)) << count_;
      count_ += bits_;
      if (count_ < 8) continue;
      out.push_back(static_cast<std::byte>(held_ & 0xff));
      held_ >>= 8;
      count_ -= 8;
    }
    return out;
  }

 private:
  unsigned bits_;
  unsigned held_ = 0;   ///< those of a byte that is not full
  unsigned count_ = 0;  ///< of its bits
};

}}}}  // namespace zarrpoint::v0::safetensors::detail
