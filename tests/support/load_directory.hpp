// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/recording_store.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace zarrpoint_test {

/// The bytes of a file.
inline recording_store::bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  recording_store::bytes out(text.size());
  if (!text.empty()) std::memcpy(out.data(), text.data(), text.size());
  return out;
}

/// A directory's files as a store.
inline recording_store load_directory(const std::filesystem::path& root) {
  recording_store out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file())
      out.set(entry.path().lexically_relative(root).generic_string(), read_file(entry.path()));
  }
  return out;
}

}  // namespace zarrpoint_test
