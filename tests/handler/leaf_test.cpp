// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/device/device_leaf.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/handler/types/blob.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leaf_test {

using namespace zarrpoint;

namespace {

/// Stands for `save`: both of its overloads, so that the braces are seen to choose.
std::vector<leaf> collect(std::span<const leaf> leaves) { return {leaves.begin(), leaves.end()}; }
std::vector<leaf> collect(std::initializer_list<leaf> leaves) { return leaves; }

template <class T>
T first_element(const leaf& of) {
  T out;
  std::memcpy(&out, of.view().value().data, sizeof out);
  return out;
}
const std::string& text_of(const leaf& of) {
  return *reinterpret_cast<const std::string*>(of.view().value().data);
}

/// Array-like; counts its copies.
struct counting {
  using value_type = float;
  inline static int copies = 0;
  std::array<float, 2> values{1, 2};

  counting() = default;
  counting(const counting& other) : values(other.values) { ++copies; }
  counting(counting&& other) noexcept : values(other.values) {}
  counting& operator=(const counting&) = delete;
  std::array<std::size_t, 1> shape() const { return {2}; }
  const float* data() const { return values.data(); }
};

/// A blob whose bytes cannot always be made.
struct message {
  bool broken = false;
  struct zarrpoint_handler {
    static constexpr std::string_view typestr = "message";
    static result<std::vector<std::byte>> to_bytes(const message& value) {
      if (value.broken) return error{errc::invalid_argument, "a broken message"};
      return std::vector<std::byte>(3);
    }
    static result<message> from_bytes(bytes_view) { return message{}; }
  };
};

/// Saves a scalar as a kind of its own.
template <class T>
struct milliseconds : handler_of<T> {
  static constexpr std::string_view typestr = "milliseconds";
};

}  // namespace

TEST_CASE("a group without leaves is told from the leaves") {
  std::vector<leaf> leaves;
  leaves.push_back(leaf::empty_group("g"));
  leaves.emplace_back("x", 1);
  CHECK(leaves[0].is_group());
  CHECK_FALSE(leaves[0].spec());
  const detail::single_leaves all = leaf::single(std::move(leaves));
  REQUIRE(all.leaves.size() == 1);
  CHECK(all.leaves[0].name() == "x");
  CHECK(all.empty_groups == std::vector<std::string>{"g"});
}

TEST_CASE("the call of the README: one brace of names and values") {
  std::vector<float> w{1, 2, 3};
  std::int64_t step = 1200;
  const auto leaves =
      collect({{"layers/0/w", w}, {"step", step}, {"note", "warm start"}, {"lr", 1e-3}});
  REQUIRE(leaves.size() == 4);
  CHECK(leaves[0].name() == "layers/0/w");
  CHECK(leaves[0].spec().value() == tensor_spec{dtype_kind::float32, {3}});
  CHECK(leaves[0].view().value().data == reinterpret_cast<const std::byte*>(w.data()));
  CHECK(leaves[1].spec().value() == tensor_spec{dtype_kind::int64, {}});
  CHECK(leaves[2].spec().value() == tensor_spec{dtype_kind::string, {}});
  CHECK(leaves[3].spec().value() == tensor_spec{dtype_kind::float64, {}});
  CHECK(leaves[0].typestr() == "array");
  CHECK(leaves[1].typestr() == "scalar");
  CHECK(leaves[2].typestr() == "string");
  CHECK(std::string(leaves[0].space_name()) == "host");
}

TEST_CASE("braces of text are leaves, never iterators of a span") {
  CHECK(collect({{"a", "b"}}).size() == 1);
  CHECK(collect({{"a", "b"}, {"c", "d"}}).size() == 2);
  CHECK(collect(std::vector<leaf>{{"a", 1}}).size() == 1);
}

TEST_CASE("every form of text becomes a string that the leaf owns") {
  char array[16] = "array";
  std::string text = "text";
  std::string_view view = text;
  const char* pointer = "pointer";
  const auto leaves = collect(
      {{"a", array}, {"t", text}, {"v", view}, {"p", pointer}, {"l", "literal"}, {"e", ""}});
  array[0] = 'X';
  text = "changed";
  CHECK(text_of(leaves[0]) == "array");
  CHECK(text_of(leaves[1]) == "text");
  CHECK(text_of(leaves[2]) == "text");
  CHECK(text_of(leaves[3]) == "pointer");
  CHECK(text_of(leaves[4]) == "literal");
  CHECK(text_of(leaves[5]).empty());
}

TEST_CASE("scalars are copied, lvalues too") {
  int step = 1;
  bfloat16 half(1.5f);
  const leaf a("step", step);
  const leaf b("half", half);
  step = 2;
  half = bfloat16(0.0f);
  CHECK(first_element<int>(a) == 1);
  CHECK(static_cast<float>(first_element<bfloat16>(b)) == 1.5f);
}

TEST_CASE("an lvalue is borrowed, and seen as it is at the time of the call") {
  std::vector<float> w{1};
  const std::vector<float> constant{7, 8};
  const leaf borrowed("w", w);
  w = {3, 4, 5};
  CHECK(borrowed.spec().value().shape == dims{3});
  CHECK(first_element<float>(borrowed) == 3);
  CHECK(first_element<float>(leaf("c", constant)) == 7);
  counting::copies = 0;
  counting value;
  const leaf of_value("v", value);
  std::vector<leaf> again(2, of_value);
  CHECK(counting::copies == 0);
  CHECK(again[1].view().value().data == reinterpret_cast<const std::byte*>(value.data()));
}

TEST_CASE("an rvalue is kept alive by all copies of the leaf, and moved, not copied") {
  counting::copies = 0;
  auto kept = std::make_unique<leaf>("v", counting());
  const leaf copy = *kept;
  const std::byte* data = copy.view().value().data;
  kept.reset();
  CHECK(copy.view().value().data == data);
  CHECK(first_element<float>(copy) == 1);
  CHECK(counting::copies == 0);
  const leaf made("m", tensor::make({dtype_kind::float32, {4}}).value());  // move-only
  CHECK(made.spec().value().shape == dims{4});
}

TEST_CASE("a view is copied, its elements are not") {
  std::vector<float> w{1, 2, 3, 4};
  std::span<float> part(w.data() + 1, 2);
  const leaf of_part("w", part);
  part = {};
  CHECK(of_part.spec().value().shape == dims{2});
  CHECK(of_part.view().value().data == reinterpret_cast<const std::byte*>(&w[1]));
}

TEST_CASE("a leaf of a plain array borrows it") {
  const float w[2][3] = {{1, 2, 3}, {4, 5, 6}};
  const leaf of_array("w", w);
  CHECK(of_array.spec().value() == tensor_spec{dtype_kind::float32, {2, 3}});
  CHECK(of_array.view().value().data == reinterpret_cast<const std::byte*>(w));
}

TEST_CASE("a blob is its bytes, made once") {
  json_text settings{"{}"};
  const leaf of_json("settings", settings);
  settings.text = "changed";
  CHECK(of_json.typestr() == "json");
  CHECK(of_json.host_accessible());
  CHECK(of_json.spec().value() == tensor_spec{dtype_kind::uint8, {2}});
  const host_view view = of_json.view().value();
  CHECK(as_text({view.data, 2}) == "{}");
  CHECK(leaf("m", message{}).spec().value().shape == dims{3});
  const leaf broken("m", message{.broken = true});
  CHECK(broken.spec().failure().message == "a broken message");
  CHECK(broken.view().failure().code == errc::invalid_argument);
}

TEST_CASE("a leaf on a device is staged, after its producer") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    zarrpoint_test::fake_device device(seed);
    zarrpoint_test::device_tensor<float> w(zarrpoint_test::fake_space{&device}, {2, 2});
    const std::vector<float> values{1, 2, 3, 4};
    w.upload(values);
    const leaf of_device("w", w);
    CHECK(!of_device.host_accessible());
    CHECK(std::string(of_device.space_name()) == "fake");
    CHECK(of_device.spec().value() == tensor_spec{dtype_kind::float32, {2, 2}});
    const staged out = of_device.stage(default_resource()).value();
    const auto* staged_values = reinterpret_cast<const float*>(out.view.data);
    CHECK(std::vector<float>(staged_values, staged_values + 4) == values);
    CHECK(out.owned.size() == 16);
    limited_resource small(8);
    CHECK(of_device.stage(small).failure().code == errc::resource_limit);
  }
}

TEST_CASE("staging a leaf of the host copies nothing") {
  const std::vector<double> w{1, 2};
  limited_resource none(0);
  const staged out = leaf("w", w).stage(none).value();
  CHECK(out.view.data == reinterpret_cast<const std::byte*>(w.data()));
}

TEST_CASE("a registry may bring another handler for one leaf") {
  using types = registry<bind<int, milliseconds<int>>>;
  const leaf custom("t", 5, types{});
  CHECK(custom.typestr() == "milliseconds");
  CHECK(first_element<int>(custom) == 5);
  CHECK(leaf("t", 5).typestr() == "scalar");
  CHECK(leaf("t", 5.0, types{}).typestr() == "scalar");  // not in the registry
  CHECK(leaf("t", "text", types{}).typestr() == "string");
}

TEST_CASE("leaves come from a loop as well as from braces") {
  const std::map<std::string, std::vector<float>> weights{{"a", {1}}, {"b", {2, 3}}};
  std::vector<leaf> leaves;
  leaves.reserve(weights.size());
  for (const auto& [name, values] : weights) leaves.emplace_back(name, values);
  CHECK(leaves[1].name() == "b");
  CHECK(leaves[1].view().value().data ==
        reinterpret_cast<const std::byte*>(weights.at("b").data()));
}

}  // namespace leaf_test
