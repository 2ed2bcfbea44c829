// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The program of docs/quickstart.md: saves a checkpoint, loads it, damages it and is told so.

#include <zarrpoint/zarrpoint.hpp>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace zp = zarrpoint;

int main() {
  // Save: a leaf is a name and a value.
  const std::vector<float> w(1'000'000, 0.5F);
  const std::int64_t step = 1200;
  zp::save("model.zarr", {{"layers/0/w", w}, {"step", step}, {"note", "warm start"}}).value();

  // Look: no data are read.
  const auto ckpt = zp::open("model.zarr").value();
  for (const std::string& name : ckpt.names())
    std::cout << name << ": " << to_string(ckpt.metadata(name).value().spec) << "\n";

  // Load: each byte is compared with its checksum.
  const auto loaded = ckpt.load<std::vector<float>>("layers/0/w").value();
  if (loaded != w || ckpt.load<std::int64_t>("step").value() != step) return 1;

  // Damage one byte of the file: the next load is an error, not a wrong number.
  std::fstream("model.zarr/layers/0/w/c/0", std::ios::in | std::ios::out).seekp(1'500'000).put('!');
  const auto damaged = ckpt.load<std::vector<float>>("layers/0/w");
  if (damaged) return 1;
  std::cout << to_string(damaged.failure()) << "\n";
  return damaged.failure().code == zp::errc::corrupt ? 0 : 1;
}
