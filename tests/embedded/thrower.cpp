// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Reads beyond the end of a string: libstdc++ throws, where it can. Run by
// tests/tools/check_size.py.

#include <cstddef>
#include <string>

int main(int count, char** arguments) {
  const std::string name(arguments[0]);
  return name.at(name.size() + static_cast<std::size_t>(count));
}
