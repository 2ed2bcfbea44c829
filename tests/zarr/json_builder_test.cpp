// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/json_builder.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zarrpoint;

TEST_CASE("events of a parser become a node") {
  const json_limits limits;
  const detail::nan_tokens none;
  detail::json_builder builder(limits, none);
  std::string key = "a";
  std::string text = "x";
  CHECK(builder.start_object(1));
  CHECK(builder.key(key));
  CHECK(builder.start_array(2));
  CHECK(builder.number_integer(-1));
  CHECK(builder.number_float(0.5, "0.5"));
  CHECK(builder.string(text));
  CHECK(builder.end_array());
  CHECK(builder.end_object());
  CHECK_FALSE(builder.failure().has_value());
  CHECK(dump_json(builder.root()) == R"({"a":[-1,0.5,"x"]})");
}

TEST_CASE("an integer that became a double is refused, a token that stands for NaN is not") {
  const json_limits limits;
  const detail::nan_tokens tokens{"0e-1", "0e-12", "0e-13"};
  detail::json_builder builder(limits, tokens);
  CHECK(builder.number_float(0, "0e-1"));
  CHECK(dump_json(builder.root()) == "NaN");
  CHECK_FALSE(builder.number_float(1e20, "100000000000000000000"));
  CHECK(builder.failure()->code == errc::out_of_range);
  CHECK_FALSE(builder.is_syntax_error());
}
