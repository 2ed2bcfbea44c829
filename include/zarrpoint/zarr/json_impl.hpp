// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/json.hpp>
#include <zarrpoint/zarr/json_builder.hpp>
#include <zarrpoint/zarr/json_reader.hpp>
#include <zarrpoint/zarr/json_writer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint::inline v0 {

namespace detail {

/// A copy of `text` in which the bare tokens `NaN`, `Infinity` and `-Infinity` are numbers that
/// occur nowhere else in it, since the parser knows no such tokens and hands numbers on with
/// their spelling. Nothing when there are no such tokens. Each number is set off by spaces, so
/// that `1NaN` or `NaN0` stays an error.
ZARRPOINT_INLINE std::optional<nan_rewrite> rewrite_nan(std::string_view text,
                                                        const json_limits& limits) {
  // The numbers are 0e-1...1, 0e-1...12 and 0e-1...13, with one 1 more than any "0e-1..." has.
  constexpr std::string_view stem = "0e-";
  std::size_t ones = 0;
  for (std::size_t at = text.find(stem); at != text.npos; at = text.find(stem, at + 1)) {
    const std::size_t digits = at + stem.size();
    ones = std::max(ones, std::min(text.find_first_not_of('1', digits), text.size()) - digits);
  }
  constexpr std::size_t max_ones = 16;  // more is nothing but an attempt to make the copy large
  if (ones >= max_ones) return std::nullopt;

  nan_rewrite out;
  out.tokens.nan = std::string(stem) + std::string(ones + 1, '1');
  out.tokens.infinity = out.tokens.nan + '2';
  out.tokens.negative_infinity = out.tokens.nan + '3';
  std::size_t found = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string) {
      const std::size_t length = c == '\\' && i + 1 < text.size() ? 2 : 1;
      if (c == '"') in_string = false;
      out.text += text.substr(i, length);
      i += length;
      continue;
    }
    const std::string_view rest = text.substr(i);
    const std::string* token = nullptr;
    std::size_t length = 1;
    if (rest.starts_with("NaN")) {
      token = &out.tokens.nan;
      length = 3;
    } else if (rest.starts_with("Infinity")) {
      token = &out.tokens.infinity;
      length = 8;
    } else if (rest.starts_with("-Infinity")) {
      token = &out.tokens.negative_infinity;
      length = 9;
    }
    if (token == nullptr) {
      in_string = c == '"';
      out.text += c;
    } else {
      if (++found > limits.node_limit()) return std::nullopt;
      (out.text += ' ').append(*token) += ' ';
    }
    i += length;
  }
  if (found == 0) return std::nullopt;
  return out;
}

ZARRPOINT_INLINE result<node> parse_any_json(std::string_view text, const json_limits& limits) {
  const auto attempt = [&limits](std::string_view document, const nan_tokens& tokens,
                                 bool& is_syntax_error) -> result<node> {
    json_builder builder(limits, tokens);
    const bool parsed = nlohmann::json::sax_parse(document.begin(), document.end(), &builder);
    is_syntax_error = builder.is_syntax_error();
    if (builder.failure()) return std::move(*builder.failure());
    if (!parsed) return error{errc::corrupt, "not a JSON document"};
    return std::move(builder.root());
  };
  bool is_syntax_error = false;
  result<node> strict = attempt(text, nan_tokens{}, is_syntax_error);
  if (strict || !is_syntax_error || !limits.allow_nan_literals) return strict;
  const std::optional<nan_rewrite> rewritten = rewrite_nan(text, limits);
  if (!rewritten) return strict;
  return attempt(rewritten->text, rewritten->tokens, is_syntax_error);
}

ZARRPOINT_INLINE result<node> parse_json_document(std::string_view text, const json_limits& limits,
                                                  json_member* wanted) {
  {
    node out;
    if (json_reader(text, limits, wanted).read(out)) return out;
  }
  return parse_any_json(text, limits);
}

}  // namespace detail

ZARRPOINT_INLINE result<node> parse_json(bytes_view text, const json_limits& limits,
                                         detail::json_member* wanted) {
  if (text.size() > limits.max_bytes)
    return error{errc::resource_limit, "JSON: " + std::to_string(text.size()) +
                                           " bytes are more than the limit of " +
                                           std::to_string(limits.max_bytes)};
  // The parser takes a NUL for the end of its input.
  if (as_text(text).find('\0') != std::string_view::npos)
    return error{errc::corrupt, "JSON: contains a NUL byte"};
#if ZARRPOINT_EXCEPTIONS
  try {
    return detail::parse_json_document(as_text(text), limits, wanted).at("JSON");
  } catch (const std::bad_alloc&) {
    return error{errc::resource_limit, "JSON: out of memory"};
  }
#else
  return detail::parse_json_document(as_text(text), limits, wanted).at("JSON");
#endif
}

}  // namespace zarrpoint::inline v0
