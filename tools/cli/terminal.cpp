// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include "text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace cli {

namespace {

bool takes_colour(int descriptor) {
  const char* off = std::getenv("NO_COLOR");
  if (off != nullptr && *off != '\0') return false;
  const char* kind = std::getenv("TERM");
  if (kind != nullptr && std::string_view(kind) == "dumb") return false;
  return isatty(descriptor) != 0;
}

std::string paint_text(std::string_view text, paint colour) {
  constexpr std::array<std::string_view, 7> codes{"",           "\033[1m",  "\033[2m", "\033[32m",
                                                  "\033[1;31m", "\033[33m", "\033[36m"};
  if (colour == paint::plain) return std::string(text);
  return std::string(codes[static_cast<std::size_t>(colour)]) + std::string(text) + "\033[0m";
}

std::size_t width_of(int descriptor) {
  winsize size{};
  const bool known = isatty(descriptor) != 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col >= 20 ? size.ws_col : 80;
}

}  // namespace

std::string painted(std::string_view text, paint colour) {
  static const bool on = takes_colour(STDOUT_FILENO);
  return on ? paint_text(text, colour) : std::string(text);
}

std::string painted_error(std::string_view text, paint colour) {
  static const bool on = takes_colour(STDERR_FILENO);
  return on ? paint_text(text, colour) : std::string(text);
}

std::size_t terminal_width() { return width_of(STDOUT_FILENO); }

std::optional<std::size_t> line_limit() {
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  return terminal_width();
}

progress::progress(std::string_view phase, std::uint64_t total_bytes)
    : phase_(phase), active_(isatty(STDERR_FILENO) != 0), total_(total_bytes) {}

progress::~progress() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void progress::add(std::string_view item, std::uint64_t bytes) {
  if (!active_) return;
  const std::lock_guard lock(mutex_);
  done_ += bytes;
  draw(item);
}

void progress::set(std::string_view item, std::uint64_t bytes, std::uint64_t total) {
  if (!active_) return;
  const std::lock_guard lock(mutex_);
  done_ = bytes;
  total_ = total;
  draw(item);
}

void progress::draw(std::string_view item) {
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && done_ < total_ && now - drawn_at_ < std::chrono::milliseconds(100)) return;
  drawn_ = true;
  drawn_at_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string line(phase_);
  if (total_ != 0) {
    const double part = std::min(static_cast<double>(done_) / static_cast<double>(total_), 1.0);
    constexpr std::size_t width = 20;
    const auto full = static_cast<std::size_t>(part * width);
    line += ' ' + repeated("█", full) + painted_error(repeated("░", width - full), paint::faint) +
            ' ' + padded(fixed(part * 100, 0), 3, true) + " %";
  }
  line += "  " + byte_text(done_) + "  " + byte_text(static_cast<std::uint64_t>(rate)) + "/s";
  if (total_ > done_ && rate > 0)
    line += "  " + time_text(static_cast<double>(total_ - done_) / rate) + " left";
  // What does not fit into the line would wrap, and not be wiped out by the next one.
  const std::size_t width = width_of(STDERR_FILENO);
  std::string name = escaped(item);
  if (zp::index_t room = static_cast<zp::index_t>(width) - 66;
      room < static_cast<zp::index_t>(columns(name)))
    name.clear();
  if (!name.empty()) line += "  " + name;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

std::string time_text(double seconds) {
  const auto whole = static_cast<unsigned long>(std::clamp(seconds, 0.0, 3.6e6) + 0.5);
  std::array<char, 40> text{};
  if (whole >= 3600) {
    std::snprintf(text.data(), text.size(), "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60,
                  whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lu:%02lu", whole / 60, whole % 60);
  }
  return text.data();
}

}  // namespace cli
