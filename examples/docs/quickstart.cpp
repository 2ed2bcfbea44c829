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
  // Save: a leaf is a name and a value. Attributes say what the whole is, or one leaf. A rule says
  // how leaves are stored, here by a chain of codecs: little-endian elements, zstd of level 3, and
  // a checksum of what it made.
  const std::vector<float> w(1'000'000, 0.5F);
  const std::vector<std::int64_t> tokens(1000, 7);
  const std::int64_t step = 1200;
  const zp::save_options how{
      .rules = {{.glob = "data/**", .codecs = {"bytes", {"zstd", 3}, "crc32c"}}},
      .attributes = zp::json::object{{"optimizer", "adam"}},
      .attributes_of = {{"layers/0/w", zp::json::object{{"unit", "m"}}}}};
  zp::save("model.zarr",
           {{"layers/0/w", w}, {"data/tokens", tokens}, {"step", step}, {"note", "warm start"}},
           how)
      .value();

  // Look: no data are read.
  const auto ckpt = zp::open("model.zarr").value();
  for (const std::string& name : ckpt.names())
    std::cout << name << ": " << to_string(ckpt.metadata(name).value().spec) << "\n";
  std::cout << "optimizer: " << *ckpt.attributes().find("optimizer")->if_string() << "\n";
  const zp::json of_w = ckpt.attributes("layers/0/w").value();
  std::cout << "unit of w: " << *of_w.find("unit")->if_string() << "\n";

  // Load: each byte is compared with its checksum.
  const auto loaded = ckpt.load<std::vector<float>>("layers/0/w").value();
  if (loaded != w || ckpt.load<std::int64_t>("step").value() != step) return 1;
  if (ckpt.load<std::vector<std::int64_t>>("data/tokens").value() != tokens) return 1;

  // Load a part: elements 500,000 to 500,002. One inner chunk is read.
  const auto array = ckpt.as_array("layers/0/w").value();
  const zp::tensor part = array.read(zp::box({500'000}, {3})).value();
  if (part.data<float>()[2] != 0.5F) return 1;

  // Damage one byte of the file: the next load is an error, not a wrong number.
  std::fstream("model.zarr/layers/0/w/c.0", std::ios::in | std::ios::out).seekp(1'500'000).put('!');
  const auto damaged = ckpt.load<std::vector<float>>("layers/0/w");
  if (damaged) return 1;
  std::cout << to_string(damaged.failure()) << "\n";
  return damaged.failure().code == zp::errc::corrupt ? 0 : 1;
}
