// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/record.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace record_test {

namespace zp = zarrpoint;
using zp::dtype_kind;

namespace {

zp::dtype record_of(std::vector<zp::record_field> fields) {
  return zp::make_record(std::move(fields)).value();
}

}  // namespace

TEST_CASE("record: fields lie one after another; nested ones and arrays count whole") {
  const zp::dtype inner = record_of({{"a", dtype_kind::int16}, {"b", dtype_kind::bool_}});
  CHECK(inner.size() == 3);
  CHECK(inner.scalar_size() == 2);
  const zp::dtype type = record_of({{"x", dtype_kind::float64},
                                    {"pair", inner, {2}},
                                    {"text", zp::dtype::utf32(3)},
                                    {"m", dtype_kind::uint8, {2, 3}}});
  CHECK(type.size() == 8 + 6 + 12 + 6);
  CHECK(type.scalar_size() == 8);
  CHECK(zp::to_string(type) == "struct");
  REQUIRE(zp::fields_of(type).size() == 4);
  CHECK(zp::find_field(type, "text")->offset == 14);
  CHECK(zp::find_field(type, "none") == nullptr);
  CHECK(zp::fields_of(dtype_kind::int8).empty());

  std::vector<std::pair<std::size_t, zp::dtype>> scalars;
  zp::for_each_scalar(type,
                      [&](std::size_t at, const zp::dtype& t) { scalars.emplace_back(at, t); });
  REQUIRE(scalars.size() == 1 + 4 + 1 + 6);
  CHECK(scalars[3].first == 8 + 3);
  CHECK(scalars[3].second == dtype_kind::int16);
  CHECK(zp::all_scalars(type, [](const zp::dtype& t) { return t.size() < 16; }));
  CHECK_FALSE(zp::all_scalars(type, [](const zp::dtype& t) { return t != dtype_kind::bool_; }));
}

TEST_CASE("record: equal when the fields are, and a value like any dtype") {
  const zp::dtype a = record_of({{"x", dtype_kind::int8}, {"y", dtype_kind::int8, {2}}});
  const zp::dtype b = record_of({{"x", dtype_kind::int8}, {"y", dtype_kind::int8, {2}}});
  CHECK(a == b);
  CHECK(a != record_of({{"x", dtype_kind::int8}, {"z", dtype_kind::int8, {2}}}));
  CHECK(a != record_of({{"x", dtype_kind::int8}, {"y", dtype_kind::int8, {3}}}));
  CHECK(a != zp::dtype(dtype_kind::record));
  zp::dtype copy = a;
  zp::dtype moved = std::move(copy);
  copy = moved;
  moved = dtype_kind::int8;
  CHECK(copy == b);
  const zp::dtype& same = copy;
  copy = same;
  CHECK(copy == b);
}

TEST_CASE("record: what cannot be a record is refused") {
  const auto code = [](std::vector<zp::record_field> fields) {
    return zp::make_record(std::move(fields)).failure().code;
  };
  CHECK(code({}) == zp::errc::invalid_argument);
  CHECK(code({{"x", dtype_kind::string}}) == zp::errc::invalid_argument);
  CHECK(code({{"x", dtype_kind::int8, {0}}}) == zp::errc::invalid_argument);
  CHECK(code({{"x", {}}}) == zp::errc::invalid_argument);
  CHECK(code({{"x", dtype_kind::int8}, {"x", dtype_kind::int8}}) == zp::errc::invalid_argument);
  CHECK(code({{"x", dtype_kind::int8, {zp::index_t{1} << 62, 2}}}) == zp::errc::out_of_range);
  std::vector<zp::record_field> many;
  for (int i = 0; i < 65536; ++i) many.push_back({std::to_string(i), dtype_kind::int8});
  CHECK(zp::make_record(many).value().size() == 65536);
  many.push_back({"one more", dtype_kind::int8});
  CHECK(code(many) == zp::errc::invalid_argument);
  zp::dtype deep = dtype_kind::int8;
  for (std::size_t i = 0; i < zp::detail::max_record_depth; ++i) deep = record_of({{"x", deep}});
  CHECK(code({{"x", deep}}) == zp::errc::invalid_argument);
}

}  // namespace record_test
