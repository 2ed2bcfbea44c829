// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/sharded_factory.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sharded_factory_test {

using namespace zarrpoint;
using numbers = std::vector<float>;

numbers plus(numbers values, float more) {
  for (float& value : values) value += more;
  return values;
}

result<state> build_parts(const factory_source<numbers>& from) {
  ZARRPOINT_TRY(first, shard(from.key + "/part1", plus(from.data, 1), {.replica = from.replica}));
  ZARRPOINT_TRY(second, shard(from.key + "/part2", plus(from.data, 2), {.replica = from.replica}));
  return state{{"level1", state{{"level2_a", first}, {"level2_b", second}}}};
}

state merge_parts(state loaded) { return std::move(*loaded.find("level1/level2_b")); }

const numbers& values_of(const state& tensor) { return *tensor.if_tensor()->get<numbers>(); }

TEST_CASE("MAP-6: a factory builds what is stored, and makes its value of what was loaded") {
  const sharded_factory factory("a", numbers{0, 1, 2}, build_parts, merge_parts);
  CHECK(factory.validate());
  const state built = factory.build().value();
  CHECK(values_of(*built.find("level1/level2_a")) == numbers{1, 2, 3});
  CHECK(values_of(*built.find("level1/level2_b")) == numbers{2, 3, 4});
  CHECK(built.find("level1/level2_a")->if_tensor()->key() == "a/part1");
  CHECK(values_of(factory.merge(built).value()) == numbers{2, 3, 4});
  // Pure: it builds the same again.
  CHECK(values_of(*factory.build().value().find("level1/level2_a")) == numbers{1, 2, 3});
}

TEST_CASE("a factory serves another key, replica or value of its type") {
  const sharded_factory model("a", numbers{0}, build_parts, merge_parts);
  const sharded_factory moments =
      model.with_key("exp_avg.a").with_replica({0, 1}).with_data(numbers{5}).value();
  CHECK(moments.key() == "exp_avg.a");
  CHECK(moments.replica() == replica_id{0, 1});
  const state built = moments.build().value();
  const sharded_tensor& part = *built.find("level1/level2_a")->if_tensor();
  CHECK(part.key() == "exp_avg.a/part1");
  CHECK(part.replica() == replica_id{0, 1});
  CHECK(*part.get<numbers>() == numbers{6});
  CHECK(model.key() == "a");
  CHECK(values_of(*model.build().value().find("level1/level2_a")) == numbers{1});

  const error other = model.with_data(std::vector<double>{1}).failure();
  CHECK(other.code == errc::invalid_argument);
  CHECK(other.message.find("\"a\"") != std::string::npos);
}

TEST_CASE("what lacks its value cannot be built, but merged") {
  const sharded_factory factory("a", numbers{0}, build_parts, merge_parts);
  const sharded_factory request = factory.without_data();
  CHECK(factory.has_data());
  CHECK_FALSE(request.has_data());
  CHECK(request.build().failure().code == errc::invalid_argument);
  CHECK(values_of(request.merge(factory.build().value()).value()) == numbers{2});
  const sharded_factory wrong = request.with_data(1).value();  // of what type is only known here
  CHECK(wrong.build().failure().code == errc::invalid_argument);
  CHECK(sharded_factory(
            "", 1, [](const auto&) { return state(); }, merge_parts)
            .validate()
            .failure()
            .code == errc::invalid_argument);
}

TEST_CASE("an error of a function names the factory where it does not itself") {
  const auto refuse = [](const state&) -> result<state> {
    return error{errc::shape_mismatch, "no"};
  };
  const sharded_factory factory(
      "a", std::make_shared<int>(1),
      [](const factory_source<std::shared_ptr<int>>& from) { return state(*from.data); }, refuse);
  CHECK(factory.build().value().get<int>().value() == 1);
  CHECK(factory.merge(1).failure().message == "factory \"a\": no");
  const state leaf = factory;
  CHECK(leaf.kind() == state_kind::factory);
  CHECK(leaf.if_factory()->key() == "a");
}

}  // namespace sharded_factory_test
