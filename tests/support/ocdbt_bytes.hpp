// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// OCDBT records, written field by field, so that tests can make each of them wrong.

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace test {

/// Numbers and texts one after another.
class ocdbt_bytes {
 public:
  ocdbt_bytes& byte(unsigned value) {
    text_ += static_cast<char>(value);
    return *this;
  }
  ocdbt_bytes& number(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<unsigned>(value & 0x7f) | 0x80U);
      value >>= 7;
    }
    return byte(static_cast<unsigned>(value));
  }
  ocdbt_bytes& numbers(const std::vector<std::uint64_t>& values) {
    for (const std::uint64_t value : values) number(value);
    return *this;
  }
  ocdbt_bytes& fixed64(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) byte(static_cast<unsigned>(value >> (8 * i)) & 0xffU);
    return *this;
  }
  ocdbt_bytes& text(std::string_view value) {
    text_ += value;
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

/// A record around an uncompressed body.
inline std::vector<std::byte> ocdbt_record(std::uint32_t mark, std::string_view body,
                                           unsigned compression = 0) {
  ocdbt_bytes out;
  for (int i = 3; i >= 0; --i) out.byte((mark >> (8 * i)) & 0xffU);
  out.fixed64(body.size() + 18).byte(0).byte(compression).text(body);
  const std::uint32_t sum = zarrpoint::crc32c(zarrpoint::as_bytes(out.str()));
  for (int i = 0; i < 4; ++i) out.byte((sum >> (8 * i)) & 0xffU);
  const auto bytes = zarrpoint::as_bytes(out.str());
  return {bytes.begin(), bytes.end()};
}

/// A table of data files, each with a path of its own and no base.
inline std::string ocdbt_table(const std::vector<std::string>& paths,
                               const std::vector<std::size_t>& bases = {}) {
  ocdbt_bytes out;
  out.number(paths.size());
  for (std::size_t i = 1; i < paths.size(); ++i) out.number(0);
  for (const std::string& path : paths) out.number(path.size());
  for (std::size_t i = 0; i < paths.size(); ++i) out.number(i < bases.size() ? bases[i] : 0);
  for (const std::string& path : paths) out.text(path);
  return out.str();
}

/// What comes before the versions in a manifest.
inline std::string ocdbt_configuration(unsigned kind = 0, unsigned compression = 0) {
  return ocdbt_bytes()
      .text(std::string(16, 'u'))
      .byte(kind)
      .number(100)
      .number(1000)
      .byte(4)
      .number(compression)
      .str();
}

/// A manifest of one version whose root is in `file`.
inline std::vector<std::byte> ocdbt_manifest(const std::string& file, std::uint64_t offset,
                                             std::uint64_t length, unsigned height,
                                             std::uint64_t keys = 100) {
  ocdbt_bytes out;
  out.text(ocdbt_configuration()).text(ocdbt_table({file}));
  out.number(1).number(7).byte(height).number(0).number(offset).number(length);
  out.numbers({keys, length, 0}).fixed64(1000).number(0);
  return ocdbt_record(0x0cdb3a2a, out.str());
}

/// A leaf of values that lie within it.
inline std::vector<std::byte> ocdbt_leaf(const std::vector<std::string>& keys,
                                         const std::vector<std::string>& values) {
  ocdbt_bytes out;
  out.byte(0).number(0).number(keys.size());
  for (std::size_t i = 1; i < keys.size(); ++i) out.number(0);
  for (const std::string& key : keys) out.number(key.size());
  for (const std::string& key : keys) out.text(key);
  for (const std::string& value : values) out.number(value.size());
  for (std::size_t i = 0; i < values.size(); ++i) out.byte(0);
  for (const std::string& value : values) out.text(value);
  return ocdbt_record(0x0cdb20de, out.str());
}

/// A node with one child, whose keys leave out `shared` bytes of `key`.
inline std::vector<std::byte> ocdbt_parent(unsigned height, const std::string& key,
                                           std::uint64_t shared, const std::string& file,
                                           std::uint64_t offset, std::uint64_t length) {
  ocdbt_bytes out;
  out.byte(height).text(ocdbt_table({file})).number(1).number(key.size()).number(shared).text(key);
  out.numbers({0, offset, length, 1, length, 0});
  return ocdbt_record(0x0cdb20de, out.str());
}

}  // namespace test
