// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The most memory that a save and a load of one large tensor take.
// Usage: one_tensor save|load raw|blosc MEBIBYTES PATH
// Saves to PATH, or loads what lies there, and prints the greatest resident set of the process /
// the tensor's bytes: of a save with the tensor that is there, of a load with the one that it made.

#include <zarrpoint/zarrpoint.hpp>

#include "../harness.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace zp = zarrpoint;

using bench::require;

namespace {

constexpr std::size_t columns = 4096;
constexpr std::size_t block_rows = 256;  // 2 MiB of weights, which the tensor repeats

zp::tensor filled(std::size_t rows) {
  zp::tensor out =
      zp::tensor::make({zp::dtype_kind::bfloat16, {static_cast<zp::index_t>(rows), columns}})
          .value();
  const std::vector<std::uint16_t> block = bench::weights(block_rows, columns);
  for (std::size_t row = 0; row < rows; row += block_rows)
    std::memcpy(out.mutable_view().data + row * columns * 2, block.data(),
                std::min(block_rows, rows - row) * columns * 2);
  return out;
}

void compare(const zp::tensor& loaded, std::size_t rows) {
  require(loaded.shape() == zp::dims{static_cast<zp::index_t>(rows), columns}, "another shape");
  const std::vector<std::uint16_t> block = bench::weights(block_rows, columns);
  for (std::size_t row = 0; row < rows; row += block_rows)
    require(std::memcmp(loaded.view().data + row * columns * 2, block.data(),
                        std::min(block_rows, rows - row) * columns * 2) == 0,
            "other elements");
}

/// Of this process, until now. In KiB, as Linux has it.
double peak_bytes() {
  rusage used{};
  require(getrusage(RUSAGE_SELF, &used) == 0, "getrusage");
  return static_cast<double>(used.ru_maxrss) * 1024;
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  const std::size_t rows = (std::strtoull(words[3], nullptr, 10) << 20) / columns / 2;
  const std::string path = words[4];
  double peak = 0;
  if (std::string(words[1]) == "save") {
    zp::save_options how{.sync = false};
    if (std::string(words[2]) == "blosc") how.rules = {{.codecs = zp::blosc_codecs()}};
    const zp::tensor tensor = filled(rows);
    zp::save(path, {{"a", tensor.view()}}, how).value();
    peak = peak_bytes();
  } else {
    const auto loaded = zp::open(path).value().load<zp::tensor>("a").value();
    peak = peak_bytes();
    compare(loaded, rows);
  }
  std::printf("%.4f\n", peak / static_cast<double>(rows * columns * 2));
  return 0;
}
