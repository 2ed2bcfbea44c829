// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/split_factory.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace split_factory_test {

using namespace zarrpoint;
using numbers = std::vector<float>;

/// Stands for a checkpoint: global tensors by key.
using memory = std::map<std::string, tensor>;

/// The elements of the global tensor that a shard without prepended axes is, or a flat range of it.
template <class F>
void for_each_element(const shard_metadata& shard, F&& f) {
  const dims& local = shard.local_shape;
  const index_t volume = element_count(local).value();
  const flat_range range = shard.range.value_or(flat_range{0, volume});
  for (index_t i = range.start; i < range.stop; ++i) {
    const index_t row = i / local[1] + shard.global_offset[0];
    const index_t column = i % local[1] + shard.global_offset[1];
    f(i - range.start, row * shard.global_shape[1] + column);
  }
}

void save(const state& tree, memory& to) {
  CHECK(for_each_leaf(tree, [&](const state& leaf) {
    const sharded_tensor* const shard = leaf.if_tensor();
    if (shard == nullptr) return;
    const shard_metadata& metadata = shard->metadata();
    auto [global, is_new] = to.try_emplace(metadata.key);
    if (is_new) global->second = tensor::make({metadata.type, metadata.global_shape}).value();
    tensor local = tensor::make(metadata.data_spec()).value();
    const staged from = shard->stage(default_resource()).value();
    copy_elements(local.mutable_view(), from.view);
    for_each_element(metadata, [&](index_t at, index_t in_global) {
      global->second.data<float>()[static_cast<std::size_t>(in_global)] =
          local.data<float>()[static_cast<std::size_t>(at)];
    });
  }));
}

state load(const state& tree, memory& from) {
  return transform_leaves(
             tree,
             [&](const state& leaf) -> result<state> {
               if (leaf.if_tensor() == nullptr) return leaf;
               sharded_tensor shard = *leaf.if_tensor();
               ZARRPOINT_CHECK(shard.init_data(default_resource()));
               const shard_metadata metadata = shard.metadata();
               tensor local = tensor::make(metadata.data_spec()).value();
               for_each_element(metadata, [&](index_t at, index_t in_global) {
                 local.data<float>()[static_cast<std::size_t>(at)] =
                     from.at(metadata.key).data<float>()[static_cast<std::size_t>(in_global)];
               });
               ZARRPOINT_CHECK(shard.fill(
                   [&](const box&, const mutable_host_view& to) -> result<void> {
                     copy_elements(to, local.view());
                     return {};
                   },
                   context{}));
               return state(shard);
             })
      .value();
}

/// What a process of `count` holds of the fused weights: rows of w, then as many of v.
numbers fused_rows(index_t rows, index_t process) {
  numbers out;
  for (const float first : {0.F, 1000.F}) {
    for (index_t i = 0; i < rows / 2 * 3; ++i)
      out.push_back(first + static_cast<float>(process * (rows / 2) * 3 + i));
  }
  return out;
}

constexpr index_t all_rows = 16;
const tensor_spec global_spec{dtype_kind::float32, {all_rows, 3}};

sharding process_of(index_t process, index_t count) { return {.offsets = {{0, process, count}}}; }

shard_metadata rows_of(index_t process, index_t count) {
  return from_rank_offsets("wv", {dtype_kind::float32, {all_rows / count, 3}},
                           process_of(process, count))
      .value();
}

memory saved_by(index_t count) {
  memory checkpoint;
  for (index_t process = 0; process < count; ++process) {
    const auto whole =
        sharded<numbers>::make(rows_of(process, count), fused_rows(all_rows / count, process))
            .value();
    const state tree{{"wv", split_factory(whole).value()}};
    save(detail::apply_factories(tree).value().tree, checkpoint);
  }
  return checkpoint;
}

TEST_CASE("MOD-5: fused weights saved by some processes are loaded by another number of them") {
  for (const index_t writers : {1, 2, 4, 8}) {
    memory checkpoint = saved_by(writers);
    REQUIRE(checkpoint.at("wv").spec() == global_spec);
    CHECK(checkpoint.at("wv").data<float>()[0] == 0);
    CHECK(checkpoint.at("wv").data<float>()[24] == 1000);
    for (const index_t readers : {1, 2, 4, 8}) {
      for (index_t process = 0; process < readers; ++process) {
        const numbers expected = fused_rows(all_rows / readers, process);
        // Into memory of the caller's, in place.
        numbers into(expected.size(), -1);
        const auto target = sharded<numbers>::borrow(rows_of(process, readers), into).value();
        const detail::expanded_state here =
            detail::apply_factories(state{{"wv", split_factory(target).value()}}).value();
        const state in_place =
            detail::merge_factories(load(here.tree, checkpoint), here.merges).value();
        CHECK(in_place.find("wv")->if_tensor()->get<numbers>() == &into);
        CHECK(into == expected);
        // Into memory that the load makes.
        const state request{
            {"wv",
             split_factory(sharded<numbers>::request(rows_of(process, readers)).value()).value()}};
        const detail::expanded_state there = detail::apply_factories(request).value();
        const state made =
            detail::merge_factories(load(there.tree, checkpoint), there.merges).value();
        CHECK(made.find("wv")->if_tensor()->metadata() == rows_of(process, readers));
        const tensor* const value = made.find("wv")->if_tensor()->get<tensor>();
        REQUIRE(value != nullptr);
        CHECK(numbers(value->data<float>().begin(), value->data<float>().end()) == expected);
      }
    }
  }
}

TEST_CASE("MOD-5: flat ranges of fused weights, those within one part and empty ones too") {
  memory checkpoint = saved_by(2);
  const numbers whole = fused_rows(8, 1);
  for (const flat_range range : {flat_range{2, 19}, {13, 17}, {0, 12}, {5, 5}, {0, 24}}) {
    const numbers expected(whole.begin() + range.start, whole.begin() + range.stop);
    shard_metadata flat = rows_of(1, 2);
    flat.range = range;
    numbers into(expected.size(), -1);
    const auto target = sharded<numbers>::borrow(flat, into).value();
    const detail::expanded_state here =
        detail::apply_factories(split_factory(target).value()).value();
    const state in_place =
        detail::merge_factories(load(here.tree, checkpoint), here.merges).value();
    CHECK(in_place.if_tensor()->get<numbers>() == &into);
    CHECK(into == expected);

    const auto asked = sharded<numbers>::request(flat).value();
    const detail::expanded_state there =
        detail::apply_factories(split_factory(asked).value()).value();
    const state made = detail::merge_factories(load(there.tree, checkpoint), there.merges).value();
    REQUIRE(made.if_tensor()->get<tensor>() != nullptr);
    const auto values = made.if_tensor()->get<tensor>()->data<float>();
    CHECK(numbers(values.begin(), values.end()) == expected);
  }
}

TEST_CASE("LOC-2: tensors are taken out, two of each factory, and put back where they were") {
  const state all{{"plain", state::list{shard("a", numbers{1}).value(), 7}},
                  {"fused", state::list{split_factory(shard("b", numbers{2, 3}).value()).value(),
                                        split_factory(shard("c", numbers{4, 5}).value()).value()}}};
  const detail::expanded_state expanded = detail::apply_factories(all).value();
  const extracted part = extract(expanded.tree, of_kind(state_kind::tensor)).value();
  std::size_t tensors = 0;
  CHECK(for_each_leaf(part.matching, [&](const state&) { ++tensors; }));
  CHECK(tensors == 1 + 2 * expanded.merges.size());
  CHECK(for_each_leaf(part.rest, [](const state& leaf) { CHECK(leaf.if_tensor() == nullptr); }));
  const state restored = merge(part.rest, part.matching).value();
  CHECK(diff(restored, expanded.tree).value().empty());
  const state merged = detail::merge_factories(restored, expanded.merges).value();
  CHECK(*merged.find("fused/1")->if_tensor()->get<numbers>() == numbers{4, 5});
  CHECK(merged.get<int>("plain/1").value() == 7);
}

TEST_CASE("columns are split without a copy, and read-only values are saved") {
  tensor wide = tensor::make({dtype_kind::float32, {2, 4}}).value();
  std::iota(wide.data<float>().begin(), wide.data<float>().end(), 0.F);
  const std::byte* const first = wide.view().data;
  const auto whole = shard("wide", std::move(wide)).value();
  const state built = split_factory<1>(whole).value().build().value();
  const staged right = built.find("parts/1")->if_tensor()->stage(default_resource()).value();
  CHECK(right.view.data == first + 2 * sizeof(float));
  CHECK(right.view.strides == dims{16, 4});

  const numbers fixed{1, 2, 3, 4};
  const auto constant = shard("c", fixed).value();
  const state halves = split_factory(constant).value().build().value();
  CHECK_FALSE(halves.find("parts/0")->if_tensor()->is_writable());
  const staged half = halves.find("parts/1")->if_tensor()->stage(default_resource()).value();
  CHECK(*reinterpret_cast<const float*>(half.view.data) == 3);
}

TEST_CASE("parts that the caller has exchanged are put together anew") {
  numbers held{1, 2, 3, 4};
  const sharded_factory factory =
      split_factory(sharded<numbers>::borrow(shard("w", held).value().metadata(), held).value())
          .value();
  state parts = factory.build().value();
  CHECK(factory.merge(parts).value().if_tensor()->get<numbers>() == &held);
  std::swap(*parts.find("parts/0"), *parts.find("parts/1"));
  const state merged = factory.merge(parts).value();
  const tensor* const made = merged.if_tensor()->get<tensor>();
  REQUIRE(made != nullptr);
  CHECK(numbers(made->data<float>().begin(), made->data<float>().end()) == numbers{3, 4, 1, 2});
  CHECK(held == numbers{1, 2, 3, 4});
}

TEST_CASE("the optimizer's tensors go through the factory of the model's") {
  const auto weights = shard("w", numbers{1, 2, 3, 4}, {.replica = {0, 1}}).value();
  const auto moments = shard("unnamed", numbers{5, 6, 7, 8}).value();
  const sharded_factory model = split_factory(weights).value();
  CHECK(model.replica() == replica_id{0, 1});
  const sharded_factory factory = model.with_key("exp_avg.w").with_data(moments).value();
  const state built = factory.build().value();
  const sharded_tensor& part = *built.find("parts/1")->if_tensor();
  CHECK(part.key() == "exp_avg.w");
  CHECK(part.replica() == replica_id{0, 1});
  CHECK(*reinterpret_cast<const float*>(part.stage(default_resource()).value().view.data) == 7);
  CHECK(factory.merge(built).value().if_tensor()->key() == "exp_avg.w");
  CHECK(diff(factory, factory).value().empty());
  CHECK(to_string(diff(model, model.with_data(moments).value()).value()) ==
        "differ: \"parts/0\": other elements\ndiffer: \"parts/1\": other elements\n");
}

TEST_CASE("MOD-6: what merge lacks is an error, memory too") {
  limited_resource little(100);
  const shard_metadata rows = rows_of(0, 1);  // 192 bytes
  const sharded_factory factory =
      split_factory(sharded<numbers>::request(rows).value(), little).value();
  memory checkpoint = saved_by(1);
  const state loaded = load(factory.build().value(), checkpoint);
  CHECK(factory.merge(loaded).failure().code == errc::resource_limit);
  CHECK(little.in_use() == 0);

  state without = loaded;
  CHECK(without.erase("parts/1"));
  const error missing = factory.merge(without).failure();
  CHECK(missing.code == errc::not_found);
  CHECK(missing.message.find("part 1") != std::string::npos);
  CHECK(factory.merge(factory.build().value()).failure().code == errc::not_found);
  CHECK(factory.merge(state::map{}).failure().code == errc::not_found);

  state other = loaded;
  *other.find("parts/1") = shard("wv", numbers{1, 2}).value();
  const sharded_factory enough = split_factory(sharded<numbers>::request(rows).value()).value();
  CHECK(enough.merge(loaded));
  CHECK(enough.merge(other).failure().code == errc::shape_mismatch);
  CHECK(split_factory(shard("odd", numbers{1, 2, 3}).value()).failure().code ==
        errc::invalid_argument);
}

}  // namespace split_factory_test
