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

/// A copy that is JSON by the book.
zp::node strict(const zp::node& from) {
  if (const auto* number = std::get_if<double>(&from.value())) return number_node(*number);
  if (const std::string* text = from.if_string()) return text_node(*text);
  if (const zp::node::array* values = from.if_array()) {
    zp::node::array out;
    for (const zp::node& value : *values) out.push_back(strict(value));
    return out;
  }
  if (const zp::node::object* members = from.if_object()) {
    zp::node::object out;
    for (const auto& [key, value] : *members)
      out.push_back({zp::is_utf8(key) ? key : escaped(key), strict(value)});
    return out;
  }
  return from;
}

}  // namespace

zp::result<void> put(std::string_view text) { return put(zp::as_bytes(text)); }

zp::result<void> put(zp::bytes_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
  return write_error();
}

zp::result<void> flush() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return write_error();
}

zp::result<void> put_json(const zp::node& document) {
  return put(dump_json(strict(document), zp::json_style::pretty) + '\n');
}

zp::node to_node(const zp::dims& shape) {
  zp::node::array out;
  for (const zp::index_t extent : shape) out.emplace_back(extent);
  return out;
}

zp::node text_node(std::string_view text) {
  std::string mended;
  while (!text.empty()) {
    const std::size_t length = zp::utf8_sequence(text);
    mended += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return mended;
}

zp::node number_node(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return value;
}

std::string table::text(bool totals) const {
  std::vector<std::size_t> widths(titles_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    widths[i] = std::max(widths[i], columns(titles_[i]));
    total += widths[i] + (total == 0 ? 0 : 2);
  }
  const auto line = [&](const std::vector<std::string>& row) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths[i] == 0) continue;
      if (!out.empty()) out += "  ";
      out += padded(row[i], widths[i], i >= right_from_);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  const std::string rule = painted(repeated("─", total), paint::faint) + '\n';
  std::string out = painted(line(titles_), paint::bold) + '\n' + rule;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const bool last = totals && i + 1 == rows_.size();
    if (last) out += rule;
    out += line(rows_[i]) + '\n';
  }
  return out;
}

}  // namespace cli
