// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is written to standard output.

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace zp = zarrpoint;

/// Writes to standard output. Errors: `io`.
zp::result<void> put(std::string_view text);
zp::result<void> put(zp::bytes_view bytes);
/// Whatever is still on its way. Errors: `io`, also of an earlier `put`.
zp::result<void> flush();

/// Writes a JSON document, indented. Numbers that JSON cannot hold become strings as `append_json`
/// has them, and bytes that are not UTF-8 become U+FFFD.
zp::result<void> put_json(const zp::json& document);

/// A word on standard error that is not an error; `text` is escaped.
void note(const std::string& text);

/// A copy of a document that is JSON by the book, as `put_json` writes it.
zp::json strict_json(const zp::json& document);

/// A JSON list of a shape.
zp::json to_json(const zp::dims& shape);
/// Any text as a JSON string.
zp::json text_json(std::string_view text);
/// A number, or its name where JSON has none for it.
zp::json number_json(double value);

/// Columns as wide as they need. A column without text in any row is left out.
class table {
 public:
  explicit table(std::vector<std::string> titles) : titles_(std::move(titles)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Columns from this one on are aligned to the right.
  void right_from(std::size_t column) { right_from_ = column; }
  /// Makes it at most `width` columns wide. Of the columns in `order`, the first first, texts are
  /// cut down to 12 columns, an ellipsis among them. Where that is not enough they are left out,
  /// but for the last one, which is not cut below 32 before.
  void fit(std::size_t width, const std::vector<std::size_t>& order);
  /// The last row is set apart when it holds `totals`.
  std::string text(bool totals) const;
  /// The rows alone.
  std::string rows() const;
  bool empty() const { return rows_.empty(); }

 private:
  /// Of each column; 0 when it is left out.
  std::vector<std::size_t> widths() const;
  std::string line(const std::vector<std::string>& row,
                   const std::vector<std::size_t>& widths) const;
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
  std::size_t right_from_ = 0;
};

}  // namespace cli
