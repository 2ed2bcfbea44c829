// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// GGUF files, written field by field, so that tests can make each of them wrong.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace test {

class gguf_bytes {
 public:
  template <class T>
  gguf_bytes& number(T value) {
    if constexpr (std::is_same_v<T, float>) {
      return number(std::bit_cast<std::uint32_t>(value));
    } else if constexpr (std::is_same_v<T, double>) {
      return number(std::bit_cast<std::uint64_t>(value));
    } else {
      const auto bits = static_cast<std::uint64_t>(value);
      for (std::size_t i = 0; i < sizeof(T); ++i) text_ += static_cast<char>(bits >> (8 * i));
      return *this;
    }
  }
  gguf_bytes& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  gguf_bytes& text(std::string_view value) {
    return number<std::uint64_t>(value.size()).raw(value);
  }
  gguf_bytes& head(std::uint32_t version, std::uint64_t tensors, std::uint64_t values) {
    return raw("GGUF").number(version).number(tensors).number(values);
  }
  /// Extents as in a file: those that vary fastest first.
  gguf_bytes& tensor(std::string_view name, const std::vector<std::uint64_t>& extents,
                     std::uint32_t type, std::uint64_t offset) {
    text(name).number(static_cast<std::uint32_t>(extents.size()));
    for (const std::uint64_t extent : extents) number(extent);
    return number(type).number(offset);
  }
  gguf_bytes& pad(std::size_t alignment) {
    while (text_.size() % alignment != 0) text_ += '\0';
    return *this;
  }

  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

}  // namespace test
