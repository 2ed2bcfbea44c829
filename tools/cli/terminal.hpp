// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What depends on where the output goes: colour and progress are for terminals only, and colour is
// not used when NO_COLOR is set (no-color.org).

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

enum class paint : std::uint8_t { plain, bold, faint, green, red, yellow, cyan };

/// `text` in colour, if standard output takes it.
std::string painted(std::string_view text, paint colour);
/// The same for standard error.
std::string painted_error(std::string_view text, paint colour);

/// Columns of the terminal behind standard output; 80 when it is none.
std::size_t terminal_width();
/// The same, or nothing when it is none, so that programs get all of a line.
std::optional<std::size_t> line_limit();

/// One line on standard error that is drawn again and again: what is done, the rate, the time
/// left. Gone when it is destroyed; silent when standard error is not a terminal.
class progress {
 public:
  /// `phase` outlives it.
  explicit progress(std::string_view phase, std::uint64_t total_bytes = 0);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  /// `bytes` more were done.
  void add(std::string_view item, std::uint64_t bytes);
  /// `bytes` were done of `total`.
  void set(std::string_view item, std::uint64_t bytes, std::uint64_t total);

 private:
  void draw(std::string_view item);

  const std::string_view phase_;
  const bool active_;
  std::mutex mutex_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool drawn_ = false;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn_at_{};
};

/// `"0:07"`, `"1:02:03"`.
std::string time_text(double seconds);

}  // namespace cli
