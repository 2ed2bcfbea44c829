// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace zarrpoint_test {

/// How many random frames a test has: a million with ZARRPOINT_TEST_LONG=1, and with a larger
/// number as many as it says.
inline std::size_t wanted_frames(std::size_t otherwise) {
  const char* const text = std::getenv("ZARRPOINT_TEST_LONG");
  if (text == nullptr) return otherwise;
  const auto told = static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
  return told > 1 ? told : 1'000'000;
}

/// Calls `f` with the bytes of each file that the corpora of the fuzz targets begin with, and of
/// each below ZARRPOINT_TEST_CORPORA, such as build/fuzz. Large files are left out.
template <class F>
void for_each_of_corpora(F&& f) {
  const char* const more = std::getenv("ZARRPOINT_TEST_CORPORA");
  for (const char* const folder : {ZARRPOINT_TEST_GOLDEN, more}) {
    if (folder == nullptr) continue;
    for (const auto& one : std::filesystem::recursive_directory_iterator(folder)) {
      if (!one.is_regular_file() || one.file_size() > (1U << 20) || one.file_size() == 0) continue;
      std::vector<std::byte> content(static_cast<std::size_t>(one.file_size()));
      std::ifstream(one.path(), std::ios::binary)
          .read(reinterpret_cast<char*>(content.data()),
                static_cast<std::streamsize>(content.size()));
      f(content);
    }
  }
}

}  // namespace zarrpoint_test
