// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace expand_factories_test {

using namespace zarrpoint;
using numbers = std::vector<float>;

/// 0 + base, 1 + base, ...
numbers range(std::size_t count, float base) {
  numbers values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) + base;
  return values;
}

state stored(const std::string& key, numbers values) {
  return shard(key, std::move(values)).value();
}

/// Three tensors of its value, and their sum.
sharded_factory thirds(const std::string& key, numbers values) {
  const auto build = [](const factory_source<numbers>& from) {
    state::list parts;
    for (const char* const part : {".0", ".1", ".2"})
      parts.push_back(stored(from.key + part, from.data));
    return state(std::move(parts));
  };
  const auto merge = [](const state& loaded) {
    numbers sum(5, 0);
    for (const state& part : *loaded.if_list()) {
      const numbers& values = *part.if_tensor()->get<numbers>();
      std::transform(sum.begin(), sum.end(), values.begin(), sum.begin(), std::plus<>());
    }
    return state(local_only(sum));
  };
  return {key, std::move(values), build, merge};
}

/// Stands for a checkpoint: elements by key.
using memory = std::map<std::string, numbers>;

memory save(const state& tree) {
  memory out;
  CHECK(for_each_leaf(tree, [&](const state& leaf) {
    out[leaf.if_tensor()->key()] = *leaf.if_tensor()->get<numbers>();
  }));
  return out;
}

state load(const state& tree, const memory& from) {
  return transform_leaves(tree,
                          [&](const state& leaf) -> state {
                            if (leaf.if_tensor() == nullptr) return leaf;
                            return stored(leaf.if_tensor()->key(),
                                          from.at(leaf.if_tensor()->key()));
                          })
      .value();
}

state sharded_list(float base) {
  return state::list{stored("A", range(2, base)), stored("B", range(3, base)),
                     stored("C", range(4, base)), thirds("D", range(5, base))};
}

TEST_CASE("SER-7: tensors and factories share a list, and keep their positions") {
  const state saved = sharded_list(0);
  const memory checkpoint = save(detail::apply_factories(saved).value().tree);
  CHECK(checkpoint.size() == 6);
  CHECK(saved.find("3")->kind() == state_kind::factory);  // as it was

  const detail::expanded_state wanted = detail::apply_factories(sharded_list(10)).value();
  CHECK(wanted.tree.find("3")->if_list()->size() == 3);
  const state loaded =
      detail::merge_factories(load(wanted.tree, checkpoint), wanted.merges).value();
  REQUIRE(loaded.if_list()->size() == 4);
  CHECK(*loaded.find("0")->if_tensor()->get<numbers>() == range(2, 0));
  CHECK(*loaded.find("1")->if_tensor()->get<numbers>() == range(3, 0));
  CHECK(*loaded.find("2")->if_tensor()->get<numbers>() == range(4, 0));
  CHECK(*loaded.find("3")->if_local()->get<numbers>() == numbers{0, 3, 6, 9, 12});
}

TEST_CASE("SER-7: what is taken out of a list does not move the factories behind it") {
  const memory checkpoint = save(detail::apply_factories(sharded_list(0)).value().tree);
  detail::expanded_state wanted = detail::apply_factories(sharded_list(10)).value();
  CHECK(wanted.tree.erase("1"));
  const state loaded =
      detail::merge_factories(load(wanted.tree, checkpoint), wanted.merges).value();
  CHECK(loaded.find("1")->is_hole());
  CHECK(*loaded.find("3")->if_local()->get<numbers>() == numbers{0, 3, 6, 9, 12});
}

TEST_CASE("factories that factories make are expanded, and merged before those") {
  const auto build = [](const factory_source<numbers>& from) {
    return state{{"plain", stored(from.key + ".plain", from.data)},
                 {"again", thirds(from.key + ".again", from.data)}};
  };
  const auto merge = [](const state& loaded) {
    return state{{"first", *loaded.find("plain")}, {"sum", *loaded.find("again")}};
  };
  const state outer{{"x/y", sharded_factory("outer", range(5, 1), build, merge)}};
  const detail::expanded_state expanded = detail::apply_factories(outer).value();
  REQUIRE(expanded.merges.size() == 2);
  CHECK(expanded.merges[0].path == "x~1y");
  CHECK(expanded.merges[1].path == "x~1y/again");
  CHECK_FALSE(expanded.merges[1].factory.has_data());
  CHECK(expanded.tree.find("x~1y/again/2")->if_tensor()->key() == "outer.again.2");
  const state merged = detail::merge_factories(expanded.tree, expanded.merges).value();
  CHECK(*merged.find("x~1y/sum")->if_local()->get<numbers>() == numbers{3, 6, 9, 12, 15});
  CHECK(*merged.find("x~1y/first")->if_tensor()->get<numbers>() == range(5, 1));
}

/// Makes itself anew `levels` times, and then its value.
sharded_factory chain(int levels) {
  const auto build = [](const factory_source<int>& from) -> state {
    if (from.data == 1) return state(100);
    return chain(from.data - 1);
  };
  const auto merge = [](const state& loaded) { return state(loaded.get<int>().value() + 1); };
  return {"chain", levels, build, merge};
}

TEST_CASE("factories make each other only so deep") {
  constexpr int most = static_cast<int>(detail::max_factory_depth);
  const detail::expanded_state expanded = detail::apply_factories(chain(most)).value();
  CHECK(detail::merge_factories(expanded.tree, expanded.merges).value().get<int>().value() ==
        100 + most);
  CHECK(detail::apply_factories(chain(most + 1)).failure().code == errc::resource_limit);
}

TEST_CASE("what was not loaded cannot be merged") {
  const detail::expanded_state expanded =
      detail::apply_factories(state{{"d", thirds("D", range(5, 0))}}).value();
  const error missing = detail::merge_factories(state::map{}, expanded.merges).failure();
  CHECK(missing.code == errc::not_found);
  CHECK(missing.message.find("\"d\"") != std::string::npos);
  CHECK(detail::merge_factories(state::list{1}, expanded.merges).failure().code == errc::not_found);
  CHECK(detail::apply_factories(thirds("", range(5, 0))).failure().code == errc::invalid_argument);
  CHECK(detail::apply_factories(thirds("D", range(5, 0)).without_data()).failure().code ==
        errc::invalid_argument);
}

}  // namespace expand_factories_test
