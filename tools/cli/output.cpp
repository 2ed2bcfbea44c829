// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <system_error>

namespace cli {

namespace {

zp::error write_error() {
  return {zp::errc::io, "write to standard output: " + std::generic_category().message(errno)};
}

}  // namespace

zp::json strict_json(const zp::json& from) {
  if (const double* const number = from.if_double()) return number_json(*number);
  if (const std::string* text = from.if_string()) return text_json(*text);
  if (const zp::json::array* values = from.if_array()) {
    zp::json::array out;
    for (const zp::json& value : *values) out.push_back(strict_json(value));
    return out;
  }
  if (const zp::json::object* members = from.if_object()) {
    zp::json::object out;
    for (const auto& [key, value] : *members)
      out.push_back({zp::is_utf8(key) ? key : escaped(key), strict_json(value)});
    return out;
  }
  return from;
}

zp::result<void> put(std::string_view text) { return put(zp::as_bytes(text)); }

zp::result<void> put(zp::bytes_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
  return write_error();
}

zp::result<void> flush() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return write_error();
}

void note(const std::string& text) {
  std::fprintf(stderr, "%s %s\n", painted_error("zarrpoint: note:", paint::yellow).c_str(),
               text.c_str());
}

zp::result<void> put_json(const zp::json& document) {
  return put(dump_json(strict_json(document), zp::json_style::pretty) + '\n');
}

zp::json to_json(const zp::dims& shape) {
  zp::json::array out;
  for (const zp::index_t extent : shape) out.emplace_back(extent);
  return out;
}

zp::json text_json(std::string_view text) {
  std::string mended;
  while (!text.empty()) {
    const std::size_t length = zp::detail::utf8_sequence(text);
    mended += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return mended;
}

zp::json number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return value;
}

namespace {

/// Two blanks between columns.
std::size_t total_of(const std::vector<std::size_t>& widths) {
  std::size_t total = 0;
  for (const std::size_t width : widths) {
    if (width != 0) total += width + (total == 0 ? 0 : 2);
  }
  return total;
}

}  // namespace

std::vector<std::size_t> table::widths() const {
  std::vector<std::size_t> out(titles_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) out[i] = std::max(out[i], columns(row[i]));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != 0) out[i] = std::max(out[i], columns(titles_[i]));
  }
  return out;
}

void table::fit(std::size_t width, const std::vector<std::size_t>& order) {
  constexpr std::size_t least = 12;
  constexpr std::size_t least_of_last = 32;
  const auto cut = [&](std::size_t column, std::size_t down_to) {
    const std::vector<std::size_t> now = widths();
    const std::size_t total = total_of(now);
    if (total <= width || now[column] <= down_to) return;
    const std::size_t to = std::max(down_to, now[column] - std::min(total - width, now[column]));
    for (auto& row : rows_) row[column] = cut_to(row[column], to);
  };
  for (const std::size_t column : order)
    cut(column, column == order.back() ? least_of_last : least);
  for (const std::size_t column : order) {
    if (column == order.back() || total_of(widths()) <= width) break;
    for (auto& row : rows_) row[column].clear();
  }
  cut(order.back(), least);
}

std::string table::line(const std::vector<std::string>& row,
                        const std::vector<std::size_t>& widths) const {
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (widths[i] == 0) continue;
    if (!out.empty()) out += "  ";
    out += padded(row[i], widths[i], i >= right_from_);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string table::rows() const {
  const std::vector<std::size_t> widths = this->widths();
  std::string out;
  for (const auto& row : rows_) out += line(row, widths) + '\n';
  return out;
}

std::string table::text(bool totals) const {
  const std::vector<std::size_t> widths = this->widths();
  const std::size_t total = total_of(widths);
  const std::string rule = painted(repeated("─", total), paint::faint) + '\n';
  std::string out = painted(line(titles_, widths), paint::bold) + '\n' + rule;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const bool last = totals && i + 1 == rows_.size();
    if (last) out += rule;
    out += line(rows_[i], widths) + '\n';
  }
  return out;
}

}  // namespace cli
