// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c_table.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What moves a lane of 16 bytes `bytes` further from the end of a message: factors for its first
/// and its second word. A carry-less product of a reflected word of 64 bits and one of 32 stands
/// 33 bits low in the 128 of the lane; the first word is worth x^64 more than the second.
struct crc32c_fold_factors {
  std::uint64_t first;
  std::uint64_t second;
};
constexpr crc32c_fold_factors crc32c_fold_by(std::uint64_t bytes) noexcept {
  return {crc32c_power(8 * bytes + 64 - 33), crc32c_power(8 * bytes - 33)};
}

/// The CRC of 64 bytes and more by folding (Gopal et al., "Fast CRC Computation Using PCLMULQDQ",
/// Intel 2009): four accumulators of 64 bytes, each four lanes, stand for a message of 256 bytes
/// with the remainder of all that went before; then one for 64.
///
/// `Ops` has the type `vector`, of 64 bytes, and on vectors by reference:
/// - `load(to, bytes)`, `store(bytes, from)`: 64 bytes, of any alignment;
/// - `broadcast(to, factors)`: the pair into every lane;
/// - `fold(accumulator, factors, next)`: in every lane, first word * first factor xor second word *
///   second factor xor `next`;
/// - `finish(state, data, size)`: any kernel, for what is left;
/// - `fold_by(bytes)`: as `crc32c_fold_by`, of the polynomial that `finish` is of.
/// Inlined into a caller that is compiled for the instructions of `Ops`.
template <class Ops>
[[gnu::always_inline]] inline std::uint32_t crc32c_fold(std::uint32_t state, const std::byte* data,
                                                        std::size_t size) noexcept {
  constexpr std::size_t width = 64;
  constexpr crc32c_fold_factors near = Ops::fold_by(width);
  constexpr crc32c_fold_factors far = Ops::fold_by(4 * width);
  if (size < width) return Ops::finish(state, data, size);

  std::byte block[width];
  std::memcpy(block, data, width);
  store_le<std::uint32_t>(block, load_le<std::uint32_t>(block) ^ state);
  typename Ops::vector a, b, c, d, next, factors;
  Ops::load(a, block);
  std::size_t done = width;
  if (size >= 4 * width) {
    Ops::load(b, data + width);
    Ops::load(c, data + 2 * width);
    Ops::load(d, data + 3 * width);
    Ops::broadcast(factors, far);
    for (done = 4 * width; size - done >= 4 * width; done += 4 * width) {
      Ops::load(next, data + done);
      Ops::fold(a, factors, next);
      Ops::load(next, data + done + width);
      Ops::fold(b, factors, next);
      Ops::load(next, data + done + 2 * width);
      Ops::fold(c, factors, next);
      Ops::load(next, data + done + 3 * width);
      Ops::fold(d, factors, next);
    }
    Ops::broadcast(factors, near);
    Ops::fold(a, factors, b);
    Ops::fold(a, factors, c);
    Ops::fold(a, factors, d);
  } else {
    Ops::broadcast(factors, near);
  }
  for (; size - done >= width; done += width) {
    Ops::load(next, data + done);
    Ops::fold(a, factors, next);
  }
  Ops::store(block, a);
  return Ops::finish(Ops::finish(0, block, width), data + done, size - done);
}

}}}  // namespace zarrpoint::v0::detail
