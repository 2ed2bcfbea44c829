// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/json.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace node_test {

namespace zp = zarrpoint;

TEST_CASE("node: every kind knows what it is") {
  CHECK(zp::json().is_null());
  CHECK(zp::json(nullptr).is_null());
  CHECK(*zp::json(true).if_bool());
  CHECK(*zp::json("text").if_string() == "text");
  CHECK(*zp::json(std::string_view("text")).if_string() == "text");
  CHECK(zp::json(zp::json::array{1, 2}).if_array()->size() == 2);
  CHECK(zp::json(zp::json::object{}).if_object()->empty());
  CHECK(zp::json(1).is_integer());
  CHECK(zp::json(1.0).is_number());
  CHECK_FALSE(zp::json(1.0).is_integer());
  CHECK_FALSE(zp::json("1").is_number());
  CHECK(zp::json(1).if_bool() == nullptr);
  CHECK(zp::json(true).to_int64() == std::nullopt);
}

TEST_CASE("node: integers are exact over both 64-bit ranges, and equal when their values are") {
  const auto max = std::numeric_limits<std::uint64_t>::max();
  const auto min = std::numeric_limits<std::int64_t>::min();
  CHECK(zp::json(max).to_uint64() == max);
  CHECK(zp::json(max).to_int64() == std::nullopt);
  CHECK(zp::json(min).to_int64() == min);
  CHECK(zp::json(min).to_uint64() == std::nullopt);
  CHECK(zp::json(std::uint64_t{5}) == zp::json(5));
  CHECK(zp::json(std::int64_t{5}).to_uint64() == 5U);
  CHECK(zp::json(max).to_double() == 0x1p64);
  CHECK(zp::json(0.5).to_double() == 0.5);
  CHECK(zp::json(0.5).to_int64() == std::nullopt);
  CHECK(zp::json(2.0).to_int64() == std::nullopt);
  CHECK(zp::json("2").to_double() == std::nullopt);
}

TEST_CASE("node: objects keep the order of their members; set adds or replaces") {
  zp::json object;
  object.set("b", 1);
  object.set("a", "x");
  object.set("b", 2);
  const zp::json expected(zp::json::object{{"b", 2}, {"a", "x"}});
  CHECK(object == expected);
  CHECK(object.find("b")->to_int64() == 2);
  CHECK(object.find("c") == nullptr);
  CHECK(zp::json(3).find("b") == nullptr);
  object.find("a")->set("inner", true);
  CHECK(*object.find("a")->if_string() == "x");  // a string has no members to set
  *object.find("a") = zp::json::array{1, zp::json()};
  CHECK(object != expected);
  const zp::json copy = object;
  CHECK(copy == object);
  const zp::json moved = std::move(object);
  CHECK(moved == copy);
}

TEST_CASE("node: every kind is moved, also out of what it lies in") {
  const auto all = [] {
    return zp::json::array{zp::json(),
                           true,
                           -5,
                           UINT64_MAX,
                           0.5,
                           std::string(100, 'x'),
                           zp::json::array{1},
                           zp::json::object{{"a", zp::json::array{2}}}};
  };
  const zp::json::array kept = all();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (std::size_t k = 0; k < kept.size(); ++k) {
      zp::json::array from = all();
      zp::json to = from[k];
      to = std::move(from[i]);
      CHECK(to == kept[i]);
      const zp::json made(std::move(to));
      CHECK(made == kept[i]);
      zp::json outer = zp::json::object{{"x", zp::json::array{kept[k], kept[i]}}};
      outer = std::move((*outer.find("x")->if_array())[1]);
      CHECK(outer == kept[i]);
      zp::json* const self = &outer;
      outer = std::move(*self);
      CHECK(outer == kept[i]);
    }
  }
}

TEST_CASE("node: a visitor sees each kind as what it holds") {
  const auto kind = [](const zp::json& of) {
    return of.visit([](const auto& held) -> std::string {
      using type = std::remove_cvref_t<decltype(held)>;
      if constexpr (std::is_same_v<type, std::nullptr_t>) return "null";
      if constexpr (std::is_same_v<type, bool>) return held ? "true" : "false";
      if constexpr (std::is_same_v<type, std::int64_t>) return "int64 " + std::to_string(held);
      if constexpr (std::is_same_v<type, std::uint64_t>) return "uint64 " + std::to_string(held);
      if constexpr (std::is_same_v<type, double>) return "double " + std::to_string(held);
      if constexpr (std::is_same_v<type, std::string>) return held;
      if constexpr (std::is_same_v<type, zp::json::array>)
        return "array " + std::to_string(held.size());
      if constexpr (std::is_same_v<type, zp::json::object>) return "object " + held.at(0).key;
    });
  };
  CHECK(kind({}) == "null");
  CHECK(kind(true) == "true");
  CHECK(kind(std::uint64_t{5}) == "int64 5");
  CHECK(kind(UINT64_MAX) == "uint64 18446744073709551615");
  CHECK(kind(0.5) == "double 0.500000");
  CHECK(kind("text") == "text");
  CHECK(kind(zp::json::array{1, 2}) == "array 2");
  CHECK(kind(zp::json::object{{"a", 1}}) == "object a");
  CHECK(*zp::json(0.5).if_double() == 0.5);
  CHECK(zp::json(1).if_double() == nullptr);
}

}  // namespace node_test
