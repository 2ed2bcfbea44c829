// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What writer.cpp and reader.cpp share: the form of the folders that run.py describes.

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace exchange {

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// What a tensor holds: its bytes, or a JSON list of its strings.
inline std::string content(const zarrpoint::tensor& of) {
  if (!of.type().is_variable()) {
    const zarrpoint::host_view view = of.view();
    return {reinterpret_cast<const char*>(view.data), of.size() * of.type().size()};
  }
  zarrpoint::json::array texts;
  for (const std::string& text : of.data<std::string>()) texts.emplace_back(text);
  return zarrpoint::dump_json(zarrpoint::json(std::move(texts)), zarrpoint::json_style::compact);
}

inline bool same(const zarrpoint::tensor& loaded, const std::string& expected_path) {
  const std::string expected = read_file(expected_path);
  if (!loaded.type().is_variable()) return content(loaded) == expected;
  using zarrpoint::as_bytes;
  return zarrpoint::parse_json(as_bytes(content(loaded))).value() ==
         zarrpoint::parse_json(as_bytes(expected)).value();
}

}  // namespace exchange
