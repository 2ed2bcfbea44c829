// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Strings and bytes as numpy's U and S types have them: of one length, which must be known before
// the first is written.

#include "npy.hpp"
#include "row_blocks.hpp"
#include "source.hpp"

#include <algorithm>
#include <string>

namespace cli {

/// The strings of a part of an array, which outlives this.
class padded_texts {
 public:
  padded_texts(const source& from, std::size_t index, const zp::selection& part)
      : from_(from), index_(index), part_(part) {}

  /// Bytes of a unit of length: 4 of a code point, 1 of bytes.
  std::size_t unit() const { return is_bytes() ? 1 : 4; }

  /// Units of the longest, at least 1. Errors: those of `utf32_length` and of reading;
  /// `unsupported` for bytes that end in a zero, which numpy would lose.
  zp::result<std::size_t> longest() const {
    std::size_t length = 1;
    ZARRPOINT_CHECK(for_each_text([&](const std::string& text) -> zp::result<void> {
      if (is_bytes() && text.ends_with('\0'))
        return zp::error{zp::errc::unsupported, "npy cannot hold bytes that end in a zero"};
      const auto units = is_bytes() ? zp::result<std::size_t>(text.size()) : utf32_length(text);
      if (!units) return units.failure();
      length = std::max(length, *units);
      return {};
    }));
    return length;
  }

  /// Calls `write(bytes)` for each of them.
  template <class F>
  zp::result<void> write(std::size_t length, const F& write) const {
    return for_each_text([&](const std::string& text) -> zp::result<void> {
      std::string element;
      if (is_bytes()) {
        element = text;
        element.resize(length, '\0');
      } else {
        append_utf32(element, text, length);
      }
      return write(zp::as_bytes(element));
    });
  }

 private:
  template <class F>
  zp::result<void> for_each_text(const F& f) const {
    return for_each_block(from_, index_, part_,
                          [&](const zp::tensor& block, std::uint64_t) -> zp::result<void> {
                            for (const std::string& text : block.data<std::string>())
                              ZARRPOINT_CHECK(f(text));
                            return {};
                          });
  }

  bool is_bytes() const { return from_.entries()[index_].spec->type == zp::dtype_kind::bytes; }

  const source& from_;
  const std::size_t index_;
  const zp::selection part_;
};

}  // namespace cli
