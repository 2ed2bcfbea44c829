// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <functional>
#include <string>
#include <string_view>

// JSON for the tests of this layer. Defined in json_test.cpp, so that one file alone pays for the
// parser.
namespace json_input {

/// The document `text`, which must be one.
zarrpoint::json json_of(std::string_view text);
/// The document in a file beneath tests/golden/zarr-metadata.
zarrpoint::json golden(const std::string& path);

/// The error of a result, as text; fails the test when there is none.
template <class T>
std::string error_of(const zarrpoint::result<T>& result) {
  return result ? "no error" : to_string(result.failure());
}

/// The value of a result as compact text, or its error.
inline std::string text_of(const zarrpoint::result<zarrpoint::json>& result) {
  return result ? dump_json(*result) : to_string(result.failure());
}

/// Calls `f` with copies of `document` in which one value, or one whole member, is replaced by an
/// odd one or is gone: each place in turn, each odd value in turn.
void for_each_damage(const zarrpoint::json& document,
                     const std::function<void(const zarrpoint::json&)>& f);

}  // namespace json_input
