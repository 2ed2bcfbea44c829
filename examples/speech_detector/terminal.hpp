// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a person sees: a table, a progress bar and a plot, in UTF-8. Colour and the bar only on a
// terminal; colour not when NO_COLOR is set (no-color.org).

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace speech {

inline bool on_terminal() { return isatty(STDOUT_FILENO) != 0; }

inline bool use_colour() {
  const char* off = std::getenv("NO_COLOR");
  return on_terminal() && (off == nullptr || *off == '\0');
}

inline std::size_t terminal_width() {
  winsize size{};
  const bool known = on_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col >= 40 ? size.ws_col : 80;
}

enum class paint : std::uint8_t { plain, bold, faint, green, red };

inline std::string painted(std::string_view text, paint colour) {
  constexpr std::array<std::string_view, 5> codes{"", "\033[1m", "\033[2m", "\033[32m", "\033[31m"};
  if (colour == paint::plain || !use_colour()) return std::string(text);
  return std::string(codes[static_cast<std::size_t>(colour)]) + std::string(text) + "\033[0m";
}

inline std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

inline std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

/// `"512 B"`, `"1.2 KiB"`, `"3.4 MiB"`.
inline std::string byte_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  if (bytes < 1024 * 1024) return fixed(value / 1024, 1) + " KiB";
  return fixed(value / (1024 * 1024), 1) + " MiB";
}

/// Columns as wide as they need; all but the first two are aligned to the right.
class table {
 public:
  explicit table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  /// The last row is set apart: it holds the totals.
  void print() const {
    std::vector<std::size_t> widths(rows_[0].size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    const std::size_t gaps = 2 * (widths.size() - 1);
    const std::size_t total = std::accumulate(widths.begin(), widths.end(), gaps);
    const std::string rule = painted(repeated("─", total), paint::faint);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == 1 || i + 1 == rows_.size()) std::printf("%s\n", rule.c_str());
      std::printf("%s\n",
                  painted(line(rows_[i], widths), i == 0 ? paint::bold : paint::plain).c_str());
    }
  }

 private:
  static std::string line(const std::vector<std::string>& row,
                          const std::vector<std::size_t>& widths) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      out += i < 2 ? row[i] + space : space + row[i];
      if (i + 1 < row.size()) out += "  ";
    }
    return out;
  }

  std::vector<std::vector<std::string>> rows_;
};

/// One line that is drawn again and again, and gone when the work is done. Silent off a terminal.
class progress_bar {
 public:
  progress_bar() = default;
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar() { clear(); }

  void draw(std::string_view phase, double part, std::string_view item) {
    if (!on_terminal()) return;
    constexpr std::size_t width = 30;
    const auto full = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * width);
    const std::string bar =
        repeated("█", full) + painted(repeated("░", width - full), paint::faint);
    std::printf("\r\033[K%.*s %s %3.0f %%  %.*s", static_cast<int>(phase.size()), phase.data(),
                bar.c_str(), part * 100, static_cast<int>(std::min<std::size_t>(item.size(), 40)),
                item.data());
    std::fflush(stdout);
    drawn_ = true;
  }
  void clear() {
    if (drawn_) std::printf("\r\033[K");
    drawn_ = false;
  }

 private:
  bool drawn_ = false;
};

/// The means of `count` groups of neighbours.
inline std::vector<float> grouped(std::span<const float> values, std::size_t count) {
  std::vector<float> means(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i * values.size() / count;
    const std::size_t last = (i + 1) * values.size() / count;
    const auto group = values.subspan(first, last - first);
    means[i] = std::accumulate(group.begin(), group.end(), 0.0F) / static_cast<float>(group.size());
  }
  return means;
}

/// Draws values of [0, 1] that cover `seconds` over a time axis. What lies above one half is green.
inline void plot(std::span<const float> values, double seconds) {
  constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 5> scale{" 1.0 ┤", "     │", " 0.5 ┤", "     │", " 0.0 ┤"};
  constexpr std::size_t margin = 6;
  const auto columns = grouped(values, std::min(values.size(), terminal_width() - margin - 2));

  for (std::size_t row = 0; row < scale.size(); ++row) {
    const std::size_t below = 8 * (scale.size() - 1 - row);  // in eighths of a row
    std::string line(scale[row]);
    std::string run;  // blocks of one colour
    paint colour = paint::plain;
    for (const float value : columns) {
      const paint wanted = value >= 0.5F ? paint::green : paint::faint;
      if (wanted != colour) line += painted(std::exchange(run, {}), std::exchange(colour, wanted));
      const double height = std::max(std::round(value * 8.0 * scale.size()), 1.0);
      run += blocks[static_cast<std::size_t>(
          std::clamp(height - static_cast<double>(below), 0.0, 8.0))];
    }
    std::printf("%s\n", (line + painted(run, colour)).c_str());
  }

  const double tick = seconds > 60 ? 10.0 : seconds > 20 ? 5.0 : seconds > 8 ? 2.0 : 1.0;
  std::string axis;
  std::string labels(margin, ' ');
  double next = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool marked =
        static_cast<double>(i + 1) * seconds / static_cast<double>(columns.size()) > next;
    axis += marked ? "┴" : "─";
    if (!marked) continue;
    labels.resize(margin + i, ' ');
    labels += fixed(next, 0) + " s";
    next += tick;
  }
  std::printf("     └%s\n%s\n", axis.c_str(), labels.c_str());
}

}  // namespace speech
