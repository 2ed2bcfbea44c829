// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A leaf of JSON text, kept as it is: settings, a tokenizer, a training configuration.
struct json_text {
  std::string text;

  friend bool operator==(const json_text&, const json_text&) = default;

  struct zarrpoint_handler {
    static constexpr std::string_view typestr = "json";
    static std::vector<std::byte> to_bytes(const json_text& value) {
      const bytes_view bytes = as_bytes(value.text);
      return {bytes.begin(), bytes.end()};
    }
    static result<json_text> from_bytes(bytes_view stored) {
      return json_text{std::string(as_text(stored))};
    }
  };
};

/// A leaf of bytes that mean something to the program alone. (A `std::vector<std::byte>` is an
/// array of uint8.)
struct byte_string {
  std::vector<std::byte> bytes;

  friend bool operator==(const byte_string&, const byte_string&) = default;

  struct zarrpoint_handler {
    static constexpr std::string_view typestr = "bytes";
    static std::vector<std::byte> to_bytes(const byte_string& value) { return value.bytes; }
    static result<byte_string> from_bytes(bytes_view stored) {
      return byte_string{{stored.begin(), stored.end()}};
    }
  };
};

}}  // namespace zarrpoint::v0
