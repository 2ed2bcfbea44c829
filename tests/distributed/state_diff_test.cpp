// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace state_diff_test {

using namespace zarrpoint;

std::string diff_text(const state& a, const state& b) { return to_string(diff(a, b).value()); }

template <class T>
state tensor_of(std::vector<T> values, const sharding& where = {}) {
  return shard("w", std::move(values), where).value();
}

TEST_CASE("equal states do not differ, whichever leaves they hold") {
  const auto make = [](int replica) {
    return state{{"t", tensor_of<float>({1, 2}, {.replica = replica})},
                 {"o", sharded_object::from_bytes("o", {std::byte{1}}).value()},
                 {"l", local_only(std::string("x"))},
                 {"v", state::list{1, 2.5, "text", true, nullptr, {}}},
                 {"e", state::list{state::map{}, state::list{}}}};
  };
  CHECK(diff(make(0), make(0)).value().empty());
  CHECK(diff(make(0), make(1)).value().empty());
  CHECK(diff(without_data(make(0)).value(), without_data(make(1)).value()).value().empty());
}

TEST_CASE("what only one of them has is named by its path, in maps, lists and at holes") {
  const state a{{"x", 1}, {"list", state::list{1, state{{"deep", 1}}, 3, {}}}, {"m", state::map{}}};
  const state b{{"list", state::list{1, {}, 3, 4, 5}}, {"m", state{{"k/", state::list{1}}}}};
  CHECK(diff_text(a, b) ==
        "only left: \"list/1\"\nonly left: \"x\"\n"
        "only right: \"list/3\"\nonly right: \"list/4\"\nonly right: \"m/k~1\"\n");
  CHECK(diff_text(1, {}) == "only left: \"\"\n");
  CHECK(diff_text(state::list{{}}, state::list{}) == "only left: \"0\"\n");
}

TEST_CASE("kinds differ, and so do numbers of two kinds") {
  CHECK(diff_text(state{{"a", state::map{}}}, state{{"a", state::list{}}}) ==
        "differ: \"a\": map and list\n");
  CHECK(diff_text(state{{"a", tensor_of<float>({1})}}, state{{"a", 1}}) ==
        "differ: \"a\": sharded tensor and value\n");
  CHECK_FALSE(diff(1, 1.0).value().empty());
  CHECK_FALSE(diff(1, true).value().empty());
  CHECK_FALSE(diff("1", 1).value().empty());
  CHECK_FALSE(diff(nullptr, 0).value().empty());
  CHECK(diff(std::uint64_t{7}, std::int64_t{7}).value().empty());
}

TEST_CASE("floating-point numbers are compared by their bits") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double other = std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) + 1);
  CHECK(diff(nan, nan).value().empty());
  CHECK_FALSE(diff(nan, other).value().empty());
  CHECK_FALSE(diff(0.0, -0.0).value().empty());
  const auto of = [](double value) { return tensor_of<double>({1, value}); };
  CHECK(diff(of(nan), of(nan)).value().empty());
  CHECK(diff_text(of(nan), of(other)) == "differ: \"\": other elements\n");
  CHECK_FALSE(diff(of(0.0), of(-0.0)).value().empty());
}

TEST_CASE("tensors differ in dtype, shape and place before they differ in elements") {
  const state ones = tensor_of<float>({1, 1});
  CHECK(diff_text(ones, tensor_of<double>({1, 1})) == "differ: \"\": dtype float32 and float64\n");
  CHECK(diff_text(ones, tensor_of<float>({1})) == "differ: \"\": shape [2] and [1]\n");
  CHECK(diff_text(ones, tensor_of<float>({1, 1}, {.offsets = {{0, 0, 2}}})) ==
        "differ: \"\": global shape [2] and [4]\n");
  CHECK(diff_text(tensor_of<float>({1, 1}, {.offsets = {{0, 1, 2}}}),
                  tensor_of<float>({1, 1}, {.offsets = {{0, 0, 2}}})) ==
        "differ: \"\": global offset [2] and [0]\n");
  CHECK(diff_text(ones, shard("v", std::vector<float>{1, 1}).value()) ==
        "differ: \"\": key \"w\" and \"v\"\n");
  CHECK(diff_text(ones, tensor_of<float>({1, 1}, {.allow_shape_mismatch = true})) ==
        "differ: \"\": other sharding\n");
  CHECK(diff_text(ones, without_data(ones).value()) == "differ: \"\": only one has a value\n");
}

TEST_CASE("objects differ in place and bytes, local values as they say themselves") {
  const auto object = [](const object_place& where, std::byte byte) {
    return sharded_object::from_bytes("o", {byte}, where).value();
  };
  const state a = object({{2}, {0}}, std::byte{1});
  CHECK(diff_text(a, object({{2}, {1}}, std::byte{1})) ==
        "differ: \"\": \"o/shard_0_2\" and \"o/shard_1_2\"\n");
  CHECK(diff_text(a, object({{2}, {0}}, std::byte{2})) == "differ: \"\": other bytes\n");
  CHECK(diff_text(a, a.if_object()->without_data()) == "differ: \"\": only one has a value\n");
  CHECK(diff_text(local_only(1), local_only(2)) == "differ: \"\": other local value\n");
}

sharded_factory doubled(const std::string& key, float value) {
  const auto build = [](const factory_source<float>& from) {
    return state{{"twice", shard(from.key, std::vector<float>{2 * from.data}).value()}};
  };
  return {key, value, build, [](state loaded) { return loaded; }};
}

sharded_factory endless(int) {
  const auto build = [](const factory_source<int>& from) { return state(endless(from.data)); };
  return {"endless", 1, build, [](state loaded) { return loaded; }};
}

TEST_CASE("factories differ in what they build") {
  CHECK(diff(doubled("a", 1), doubled("a", 1)).value().empty());
  CHECK(diff_text(state{{"f", doubled("a", 1)}}, state{{"f", doubled("a", 2)}}) ==
        "differ: \"f/twice\": other elements\n");
  CHECK(diff_text(doubled("a", 1), doubled("b", 1)) == "differ: \"\": key \"a\" and \"b\"\n");
  CHECK(diff_text(doubled("a", 1), doubled("a", 1).without_data()) ==
        "differ: \"\": only one has a value\n");
  CHECK(diff(doubled("a", 1).without_data(), doubled("a", 2).without_data()).value().empty());
  CHECK(diff(endless(1), endless(1)).failure().code == errc::resource_limit);
}

TEST_CASE("states nested too deep are refused") {
  state deep = 1;
  for (std::size_t i = 0; i < detail::max_state_depth + 1; ++i)
    deep = state(state::list{std::move(deep)});
  CHECK(diff(deep, deep).failure().code == errc::resource_limit);
  CHECK(diff(*deep.find("0"), *deep.find("0")).value().empty());
}

}  // namespace state_diff_test
