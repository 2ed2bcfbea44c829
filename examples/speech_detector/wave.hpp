// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace speech {

/// Reads a RIFF wave file of 16-bit mono sound at `rate` samples a second, scaled to [-1, 1).
/// Throws `std::runtime_error` when the file is something else.
inline std::vector<float> read_wave(const std::string& path, std::size_t rate) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto fail = [&](std::string_view why) {
    throw std::runtime_error(path + ": " + std::string(why));
  };
  const auto number = [&](std::size_t at, std::size_t size) {  // little-endian
    std::size_t value = 0;
    for (std::size_t i = size; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  if (!file) fail("cannot be read");
  if (bytes.size() < 12 || bytes.compare(0, 4, "RIFF") != 0 || bytes.compare(8, 4, "WAVE") != 0)
    fail("not a wave file");

  bool format_seen = false;
  for (std::size_t at = 12; bytes.size() - at >= 8;) {
    const std::string_view kind = std::string_view(bytes).substr(at, 4);
    const std::size_t size = number(at + 4, 4);
    at += 8;
    if (size > bytes.size() - at) fail("a chunk runs past the end of the file");
    if (kind == "fmt ") {
      if (size < 16 || number(at, 2) != 1 || number(at + 2, 2) != 1 || number(at + 4, 4) != rate ||
          number(at + 14, 2) != 16)
        fail("not 16-bit mono PCM at " + std::to_string(rate) + " Hz");
      format_seen = true;
    } else if (kind == "data") {
      if (!format_seen) fail("sound before its format");
      std::vector<float> samples(size / 2);
      for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] =
            static_cast<float>(static_cast<std::int16_t>(number(at + 2 * i, 2))) / 32768.0F;
      return samples;
    }
    at += size;
    if (size % 2 == 1 && at < bytes.size()) ++at;  // chunks are padded to an even size
  }
  fail("no sound in it");
  return {};
}

}  // namespace speech
