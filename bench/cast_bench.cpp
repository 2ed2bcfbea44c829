// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Casts between float32 and the floats of 16 bits, and transposing copies of matrices, in one
// thread, beside a memcpy that moves as many bytes: casts of what fits no cache and of what fits
// the first, transposes of what fits none.
// Usage: cast_bench [ROUNDS]

#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "harness.hpp"

#include <cstdlib>
#include <cstring>

namespace zp = zarrpoint;

namespace {

/// Casts `count` elements, `times` times a round.
void row(zp::dtype to, zp::dtype from, std::size_t count, std::size_t times, int rounds) {
  const zp::dims shape{static_cast<zp::index_t>(count)};
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.01F * static_cast<float>(i % 1000) - 5;
  std::vector<std::byte> source(count * from.size());
  std::vector<std::byte> target(count * to.size());
  const zp::host_view numbers = zp::dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                               {zp::dtype_kind::float32, shape});
  const zp::mutable_host_view in = zp::dense_view(source.data(), {from, shape});
  zp::detail::cast_elements(in, numbers).value();
  const zp::host_view stored = zp::dense_view(std::as_const(source).data(), {from, shape});
  const zp::mutable_host_view out = zp::dense_view(target.data(), {to, shape});

  const std::size_t half = (source.size() + target.size()) / 2;
  std::vector<std::byte> floor_from(half, std::byte{1});
  std::vector<std::byte> floor_to(half);
  const std::string name = std::string(zp::to_string(from)) + " to " +
                           std::string(zp::to_string(to)) + (times == 1 ? ", memory" : ", cache");
  bench::compare({name,
                  2.0 * static_cast<double>(half * times),
                  {},
                  [&] {
                    for (std::size_t i = 0; i < times; ++i)
                      zp::detail::cast_elements(out, stored).value();
                  },
                  [&] {
                    for (std::size_t i = 0; i < times; ++i) {
                      std::memcpy(floor_to.data(), floor_from.data(), half);
                      __asm__ volatile("" ::"r"(floor_to.data()) : "memory");
                    }
                  }},
                 rounds);
}

/// Copies a matrix that lies by columns to one by rows, as a load of an array in Fortran's order
/// and a save of a transposed view do.
void transpose(zp::dtype type, zp::index_t rows, zp::index_t columns, int rounds) {
  const zp::tensor_spec spec{type, {rows, columns}};
  zp::tensor source = zp::tensor::make(spec).value();
  zp::tensor target = zp::tensor::make(spec).value();
  const std::size_t size = source.size() * type.size();
  for (std::size_t i = 0; i < size; ++i)
    source.mutable_view().data[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  zp::host_view by_columns = source.view();
  const auto element = static_cast<zp::index_t>(type.size());
  by_columns.strides = {element, rows * element};
  const zp::mutable_host_view by_rows = target.mutable_view();
  bench::compare({std::string(zp::to_string(type)) + ", " + std::to_string(rows) + " x " +
                      std::to_string(columns),
                  2.0 * static_cast<double>(size),
                  {},
                  [&] { zp::copy_elements(by_rows, by_columns); },
                  [&] { std::memcpy(by_rows.data, by_columns.data, size); }},
                 rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 11;
  std::printf(
      "| cast | zarrpoint, bytes moved | memcpy | ratio | range |\n|---|---|---|---|---|\n");
  using enum zp::dtype_kind;
  constexpr std::size_t large = std::size_t{1} << 26;
  constexpr std::size_t small = std::size_t{1} << 12;
  for (const std::size_t count : {large, small}) {
    for (const zp::dtype& narrow : {zp::dtype(bfloat16), zp::dtype(float16)}) {
      row(narrow, zp::dtype(float32), count, large / count, rounds);
      row(zp::dtype(float32), narrow, count, large / count, rounds);
    }
  }
  std::printf(
      "\n| transpose | zarrpoint, bytes moved | memcpy | ratio | range |\n|---|---|---|---|---|\n");
  for (const zp::dtype& type : {zp::dtype(float32), zp::dtype(uint16)}) {
    transpose(type, 8192, 8192, rounds);  // rows a power of two apart: few lines of a cache
    transpose(type, 8200, 8100, rounds);
  }
}
