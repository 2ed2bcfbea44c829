// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32c_table.hpp>
#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <array>

// CRC-32C in parallel. The bytes are the coefficients of a polynomial. So the register after all of
// them is a sum of what each word gives alone, times a power of x for the bytes that follow.
//
// The bytes are seen as rows of 4096, the first of which begins at an address aligned to 16, with
// zeros before and behind. Zeros before change nothing; those behind are taken back by a power of x
// below zero. A block has some rows, a thread the same 16 bytes of each. It moves its four sums on
// by a row and adds the next four words. That takes a table for the product with x^(8 * 4096),
// which the block makes for itself. The sums of a block are joined pair by pair, and the blocks' by
// atomic xor. Of a table of checksums each is one block's.
namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

inline constexpr std::uint32_t crc32c_row = block_threads * vector_bytes;
inline constexpr std::uint32_t crc32c_levels = 8;  ///< of joined pairs
static_assert(1U << crc32c_levels == block_threads);
inline constexpr std::uint32_t crc32c_one = 0x80000000;  ///< x^0

/// The least n above 0 with x^n = 1: as many as there are powers.
inline constexpr std::uint64_t crc32c_order = (std::uint64_t{1} << 31) - 1;
static_assert(v0::detail::crc32c_power(crc32c_order) == crc32c_one);

/// The exponent, below `crc32c_order`, of what moves a sum by that many bytes.
constexpr std::uint64_t crc32c_exponent(std::uint64_t bytes) noexcept {
  return bytes % crc32c_order * 8 % crc32c_order;
}

/// The checksum of nothing but zeros in place of `bytes` bytes: what the blocks' sums are added to.
constexpr std::uint32_t crc32c_of_zeros(std::uint64_t bytes) noexcept {
  return ~v0::detail::crc32c_multiply(0xffffffff, v0::detail::crc32c_power(crc32c_exponent(bytes)));
}

/// Constants of all checksums.
struct crc32c_constants {
  std::array<std::uint32_t, 32> row{};               ///< x^(8 * 4096) times each bit of a register
  std::array<std::uint32_t, 32> powers{};            ///< x^(2^i)
  std::array<std::uint32_t, crc32c_levels> joins{};  ///< x^(8 * 16 * 2^i)
};

constexpr crc32c_constants make_crc32c_constants() noexcept {
  using namespace v0::detail;
  crc32c_constants out;
  const std::uint32_t row = crc32c_power(8 * crc32c_row);
  std::uint32_t square = crc32c_one >> 1;
  for (std::size_t i = 0; i < 32; ++i) {
    out.row[i] = crc32c_multiply(std::uint32_t{1} << i, row);
    out.powers[i] = square;
    square = crc32c_multiply(square, square);
  }
  for (std::size_t i = 0; i < crc32c_levels; ++i)
    out.joins[i] = crc32c_power(std::uint64_t{8 * vector_bytes} << i);
  return out;
}
inline constexpr crc32c_constants crc32c_known = make_crc32c_constants();

/// What a block is given. Offsets count from `base`.
struct crc32c_job {
  const std::byte* base = nullptr;  ///< aligned to 16
  std::uint64_t begin = 0;          ///< of the bytes; below 16
  std::uint64_t end = 0;
  std::uint64_t rows = 0;
  std::uint64_t block_rows = 1;  ///< of each block, but the last
  std::uint32_t first = 0;       ///< for the first word to be added
  std::uint32_t of_zeros = 0;    ///< for the first block to add
};

/// At least one byte. `blocks` is how many there should be at most.
constexpr crc32c_job make_crc32c_job(const std::byte* from, std::uint64_t bytes,
                                     std::uint64_t blocks) noexcept {
  // Fewer rows than this are not worth the joining.
  constexpr std::uint64_t least_rows = 16;
  crc32c_job job;
  job.begin = address_of(from) % vector_bytes;
  job.base = from - job.begin;
  job.end = job.begin + bytes;
  job.rows = divide_up(job.end, crc32c_row);
  job.block_rows = divide_up(job.rows, blocks);
  if (job.block_rows < least_rows) job.block_rows = least_rows;
  job.of_zeros = crc32c_of_zeros(bytes);
  return job;
}

/// All of an entry by one block. The register begins with ones: as if they were added to the first
/// 4 bytes, or to zeros behind them.
constexpr crc32c_job crc32c_job_of(const device_checksum& entry) noexcept {
  crc32c_job job;
  job.base = at_address<const std::byte>(entry.from);
  job.end = entry.bytes;
  job.rows = job.block_rows = divide_up(entry.bytes, crc32c_row);
  job.first = job.of_zeros = 0xffffffff;
  return job;
}

constexpr std::uint32_t crc32c_blocks(const crc32c_job& job) noexcept {
  return static_cast<std::uint32_t>(divide_up(job.rows, job.block_rows));
}

/// What the threads of a block share.
struct crc32c_shared {
  std::uint32_t table[4][256];  ///< a byte of a register times x^(8 * 4096)
  std::uint32_t sums[block_threads];
  std::uint32_t factors[32];
};

/// `a * b`, as `crc32c_multiply`, without branches.
constexpr std::uint32_t crc32c_product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    product ^= b & (0 - (a >> bit & 1));
    b = b >> 1 ^ (v0::detail::crc32c_polynomial & (0 - (b & 1)));
  }
  return product;
}

/// The power of x for what follows the block's rows.
constexpr std::uint64_t crc32c_block_exponent(const crc32c_job& job, std::uint64_t block) noexcept {
  const std::uint64_t row = (block + 1) * job.block_rows;
  const std::uint64_t end = (row < job.rows ? row : job.rows) * crc32c_row;
  return end <= job.end ? crc32c_exponent(job.end - end)
                        : crc32c_order - crc32c_exponent(end - job.end);
}

/// First: the tables, and the power of x for the block as factors.
constexpr void crc32c_prepare(const crc32c_job& job, const crc32c_constants& known,
                              crc32c_shared& shared, thread_place place) noexcept {
  const std::uint32_t byte = place.thread;
  for (std::uint32_t k = 0; k < 4; ++k) {
    std::uint32_t entry = 0;
    for (std::uint32_t bit = 0; bit < 8; ++bit)
      entry ^= known.row[8 * k + bit] & (0 - (byte >> bit & 1));
    shared.table[k][byte] = entry;
  }
  if (byte >= 32) return;
  const bool is_set = (crc32c_block_exponent(job, place.block) >> byte & 1) != 0;
  shared.factors[byte] = is_set ? known.powers[byte] : crc32c_one;
}

/// 16 bytes, of which those outside [begin, end) are not touched and 0.
constexpr word<16> crc32c_load_edge(const crc32c_job& job, std::uint64_t offset) noexcept {
  word<16> out{};
  for (std::uint32_t i = 0; i < vector_bytes; ++i) {
    if (offset + i < job.begin || offset + i >= job.end) continue;
    out.at[i / 4] |= static_cast<std::uint32_t>(job.base[offset + i]) << (i % 4 * 8);
  }
  return out;
}

/// The four sums of a thread.
struct crc32c_sums {
  std::uint32_t of[4] = {};

  constexpr void add(const crc32c_shared& shared, const word<16>& next) noexcept {
    for (std::uint32_t k = 0; k < 4; ++k) {
      const std::uint32_t sum = of[k];
      of[k] = shared.table[0][sum & 255] ^ shared.table[1][sum >> 8 & 255] ^
              shared.table[2][sum >> 16 & 255] ^ shared.table[3][sum >> 24] ^ next.at[k];
    }
  }
  /// One, as of 16 bytes that nothing follows.
  constexpr std::uint32_t joined() const noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t k = 0; k < 4; ++k) {
      sum ^= of[k];
      for (int bit = 0; bit < 32; ++bit)
        sum = sum >> 1 ^ (v0::detail::crc32c_polynomial & (0 - (sum & 1)));
    }
    return sum;
  }
};

/// Second: the sum of one thread over the rows of its block.
constexpr void crc32c_sum_rows(const crc32c_job& job, crc32c_shared& shared,
                               thread_place place) noexcept {
  std::uint64_t row = place.block * job.block_rows;
  const std::uint64_t last = row + job.block_rows < job.rows ? row + job.block_rows : job.rows;
  const std::uint64_t column = place.thread * vector_bytes;
  crc32c_sums sums;
  if (row == 0) {
    sums.add(shared, crc32c_load_edge(job, column));
    if (place.thread == 0) sums.of[0] ^= job.first;
    ++row;
  }
  // Loads of a few rows together, so that the memory is not waited for once a row.
  for (; row + 4 <= last && (row + 4) * crc32c_row <= job.end; row += 4) {
    word<16> next[4];
    for (std::uint32_t k = 0; k < 4; ++k)
      next[k] = load<word<16>, vector_bytes>(job.base + (row + k) * crc32c_row + column);
    for (std::uint32_t k = 0; k < 4; ++k) sums.add(shared, next[k]);
  }
  for (; row < last; ++row) sums.add(shared, crc32c_load_edge(job, row * crc32c_row + column));
  shared.sums[place.thread] = sums.joined();
}

/// Then, for each level: pairs of sums become one, and pairs of factors.
constexpr void crc32c_join(const crc32c_constants& known, crc32c_shared& shared,
                           std::uint32_t level, std::uint32_t thread) noexcept {
  const std::uint32_t left = thread * (2U << level);
  if (left < block_threads) {
    const std::uint32_t sum = shared.sums[left];
    shared.sums[left] = crc32c_product(known.joins[level], sum) ^ shared.sums[left + (1U << level)];
  }
  const std::uint32_t pairs = 16U >> level;
  const std::uint32_t other = block_threads - 1 - thread;  // of a warp with little else to do
  if (other < pairs)
    shared.factors[other] = crc32c_product(shared.factors[other], shared.factors[other + pairs]);
}

/// Last: what the block adds to the checksum.
constexpr std::uint32_t crc32c_of_block(const crc32c_job& job, const crc32c_shared& shared,
                                        std::uint64_t block) noexcept {
  return crc32c_product(shared.factors[0], shared.sums[0]) ^ (block == 0 ? job.of_zeros : 0);
}

}}}  // namespace zarrpoint::v0::cuda::detail
