// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/shard/shard_value.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shard_value_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

using floats = std::vector<float>;

tensor_spec f32(dims shape) { return {dtype_kind::float32, shape}; }

floats counted(index_t first, std::size_t count) {
  floats out(count);
  std::iota(out.begin(), out.end(), static_cast<float>(first));
  return out;
}

shard_metadata tile() {
  return from_rank_offsets("w", f32({1, 3, 7, 9}), {.offsets = {{0, 0, 10}, {2, 3, 6}}}).value();
}

/// Elements 4 to 9 of a shard of shape [4, 7].
shard_metadata piece() {
  return from_rank_offsets_flat("w", f32({5}), {{4, 7}, {4, 9}},
                                {.offsets = {{0, 1, 2}, {1, 3, 5}}})
      .value();
}

floats in_order(const host_view& view) {
  tensor copy = tensor::make(view.spec()).value();
  copy_elements(copy.mutable_view(), view);
  return floats(copy.data<float>().begin(), copy.data<float>().end());
}

/// The elements of a narrowed shard, which `sharded_tensor` has as well.
template <class T>
floats narrowed_elements(const sharded<T>& shard, const axis_range& to) {
  const auto left = narrow(shard, to).value();
  const auto erased = narrow(sharded_tensor(shard), to).value();
  REQUIRE(left.has_value());
  REQUIRE(erased.has_value());
  CHECK(left->metadata() == narrow(shard.metadata(), to).value()->shard);
  CHECK(erased->metadata() == left->metadata());
  const floats found = in_order(left->value().elements().value());
  CHECK(in_order(erased->stage(default_resource()).value().view) == found);
  return found;
}

/// The elements of `whole`, in row-major order of `shape`, that lie in a box of it.
floats elements_in(const floats& whole, const dims& shape, const box& part) {
  return in_order(subview(dense_view(reinterpret_cast<const std::byte*>(whole.data()), f32(shape)),
                          selection(part)));
}

std::string load_alone(const memory_store& store, const sharded_tensor& into) {
  const auto loaded = load(store, state{{"w", into}}, group_of(single_process{}));
  return loaded ? std::string("done") : to_string(loaded.failure());
}

}  // namespace

TEST_CASE("MAP-4: a narrowed shard has the part of the value that stays") {
  const dims local{1, 3, 7, 9};
  const floats values = counted(0, 189);
  const auto shard = sharded<const floats>::borrow(tile(), values).value();
  CHECK(narrowed_elements(shard, {1, 1, 2}) ==
        elements_in(values, local, {{0, 1, 0, 0}, {1, 2, 7, 9}}));
  const floats third = narrowed_elements(shard, {2, 3, 2});
  CHECK(third == elements_in(values, local, {{0, 0, 3, 0}, {1, 3, 2, 9}}));
  CHECK(third.front() == 27);
  CHECK(third.back() == 170);
  CHECK(narrowed_elements(shard, {2, 7, 0}).empty());
}

TEST_CASE("MAP-5: a narrowed flat range has the part of its elements that stays, or nothing") {
  const auto shard = sharded<floats>::make(piece(), counted(4, 5)).value();
  CHECK(narrowed_elements(shard, {0, 0, 1}) == floats{4, 5, 6});
  CHECK(narrowed_elements(shard, {0, 0, 3}) == floats{4, 5, 6, 7, 8});
  CHECK(narrowed_elements(shard, {0, 1, 1}) == floats{7, 8});
  CHECK_FALSE(narrow(shard, {0, 2, 1}).value().has_value());
  CHECK_FALSE(narrow(sharded_tensor(shard), {0, 2, 1}).value().has_value());
}

TEST_CASE("narrow: what is refused of a description is refused with a value") {
  const auto shard = sharded<floats>::make(piece(), counted(4, 5)).value();
  CHECK(narrow(shard, {1, 0, 1}).failure().code == errc::invalid_argument);
  CHECK(narrow(sharded_tensor(shard), {0, 3, 5}).failure().code == errc::out_of_range);
}

TEST_CASE("narrow: what has no value is narrowed to what has none") {
  const auto left = narrow(sharded<floats>::request(tile()).value(), {1, 1, 2}).value();
  REQUIRE(left.has_value());
  CHECK_FALSE(left->has_data());
  CHECK(left->metadata().local_shape == dims{1, 2, 7, 9});
  const auto erased = narrow(sharded_tensor(tile()), {1, 1, 2}).value();
  REQUIRE(erased.has_value());
  CHECK_FALSE(erased->has_data());
  // A load makes what is missing.
  const memory_store store;
  const shard_metadata whole = from_rank_offsets("w", f32({10, 2, 42, 9}), {}).value();
  CHECK(save_by(1, store, [&](int) { return state{{"w", with_values(whole, 3)}}; }) == "done");
  CHECK(load_by(
            1, store,
            [&](int) {
              return state{{"w", *left}};
            },
            [](int, const group_load_report& report) {
              return wrong_in(*report.loaded.find("w")->if_tensor(), 3);
            },
            {.validate = false}) == "done");
}

TEST_CASE("narrow: what is narrowed again is a part of the part, of the same type") {
  const floats values = counted(0, 189);
  const auto shard = sharded<const floats>::borrow(tile(), values).value();
  const auto once = narrow(shard, {1, 1, 2}).value();
  const auto twice = narrow(*once, {2, 3, 2}).value();
  static_assert(std::is_same_v<decltype(once), decltype(twice)>);
  CHECK(in_order(twice->value().elements().value()) ==
        elements_in(values, {1, 3, 7, 9}, {{0, 1, 3, 0}, {1, 2, 2, 9}}));
  const auto erased = narrow(sharded_tensor(*once), {2, 3, 2}).value();
  using view = detail::part_view<host_space, false>;
  REQUIRE(erased->get<view>() != nullptr);
  CHECK(erased->get<view>()->part() == box{{0, 0, 3, 0}, {1, 2, 2, 9}});
}

TEST_CASE("narrow: parts of the processes' values are saved, and loaded into parts of others") {
  // Columns 2 to 5 of 8 of each of 3 processes; the tensor that is stored has 3 times 3 of them.
  const dims local{4, 8};
  const auto whole = [&](int rank, floats& values) {
    const shard_metadata about =
        from_rank_offsets("w", f32(local), {.offsets = {{1, rank, 3}}}).value();
    return sharded<floats>::borrow(about, values).value();
  };
  const memory_store store;
  std::vector<floats> saved;
  for (int rank = 0; rank < 3; ++rank) saved.push_back(counted(100 * rank, 32));
  CHECK(save_by(3, store, [&](int rank) {
          const auto part = narrow(whole(rank, saved[static_cast<std::size_t>(rank)]), {1, 2, 3});
          return state{{"w", **part}};
        }) == "done");
  std::vector<floats> loaded(3, floats(32, -1));
  CHECK(load_by(
            3, store,
            [&](int rank) {
              const sharded_tensor all = whole(rank, loaded[static_cast<std::size_t>(rank)]);
              return state{{"w", *narrow(all, {1, 2, 3}).value()}};
            },
            [](int, const group_load_report&) { return std::string(); }) == "done");
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t i = 0; i < 32; ++i) {
      const bool inside = i % 8 >= 2 && i % 8 < 5;
      CHECK(loaded[rank][i] == (inside ? saved[rank][i] : -1));
    }
  }
  CHECK(open(store).value().load<tensor>("w").value().shape() == dims{4, 9});
}

TEST_CASE("narrow: a flat range is saved, and loaded in place, as what is left of it") {
  const memory_store store;
  const auto about = [](flat_range range) {
    return from_rank_offsets_flat("w", f32({range.size()}), {{4, 7}, range}, {}).value();
  };
  // Two processes have the halves of 28 elements; 7 to 21 are left.
  std::vector<floats> halves{counted(0, 14), counted(14, 14)};
  const auto half = [&](int rank, std::vector<floats>& of) {
    const shard_metadata flat = about({14 * rank, 14 * rank + 14});
    return sharded<floats>::borrow(flat, of[static_cast<std::size_t>(rank)]).value();
  };
  CHECK(save_by(2, store, [&](int rank) {
          return state{{"w", **narrow(half(rank, halves), {0, 1, 2})}};
        }) == "done");
  CHECK(in_order(open(store).value().load<tensor>("w").value().view()) == counted(7, 14));
  std::vector<floats> into(2, floats(14, -1));
  CHECK(load_by(
            2, store,
            [&](int rank) {
              return state{{"w", **narrow(half(rank, into), {0, 1, 2})}};
            },
            [](int, const group_load_report&) { return std::string(); }) == "done");
  for (std::size_t i = 0; i < 28; ++i)
    CHECK(into[i / 14][i % 14] == (i >= 7 && i < 21 ? static_cast<float>(i) : -1));
}

TEST_CASE("narrow: a value that is const is read, and never written") {
  const memory_store store;
  const shard_metadata about = from_rank_offsets("w", f32({4, 2}), {}).value();
  const floats values = counted(0, 8);
  const auto part = narrow(sharded<const floats>::borrow(about, values).value(), {0, 1, 2}).value();
  static_assert(!fillable<decltype(part->value())>);
  CHECK_FALSE(sharded_tensor(*part).is_writable());
  CHECK(save_by(1, store, [&](int) { return state{{"w", *part}}; }) == "done");
  CHECK(in_order(open(store).value().load<tensor>("w").value().view()) == counted(2, 4));
  CHECK(load_alone(store, *part) ==
        "invalid_argument: load \"w\": shard of \"w\": its local value is read-only");
  floats other(8, -1);
  const auto room = narrow(sharded<floats>::borrow(about, other).value(), {0, 1, 2}).value();
  CHECK(sharded_tensor(*room).is_writable());
  CHECK(load_alone(store, *room) == "done");
  CHECK(other == floats{-1, -1, 2, 3, 4, 5, -1, -1});
}

TEST_CASE("narrow: a kept value lives as long as its part; strings are parts, too") {
  const shard_metadata about =
      from_rank_offsets("w", {dtype_kind::string, {3, 2}}, {.offsets = {{0, 0, 1}}}).value();
  std::optional<sharded_tensor> part;
  {
    std::vector<std::string> words{"a", "b", "long enough for the heap", "d", "e", "f"};
    const auto shard = sharded<std::vector<std::string>>::make(about, std::move(words)).value();
    part = narrow(shard, {0, 1, 1}).value();
  }
  const memory_store store;
  CHECK(save_by(1, store, [&](int) { return state{{"w", *part}}; }) == "done");
  const tensor stored = open(store).value().load<tensor>("w").value();
  CHECK(stored.data<std::string>()[0] == "long enough for the heap");
  CHECK(stored.data<std::string>()[1] == "d");
}

TEST_CASE("narrow: a value that is not what it was is an error, not memory of others") {
  floats values = counted(0, 8);
  const shard_metadata about = from_rank_offsets("w", f32({4, 2}), {}).value();
  const auto shard = sharded<floats>::borrow(about, values).value();
  const auto part = narrow(shard, {0, 1, 2}).value();
  REQUIRE(part->validate());
  values = counted(8, 8);  // another place, the same shape
  values.reserve(100);
  CHECK(in_order(part->value().elements().value()) == counted(10, 4));
  values.resize(3);
  CHECK(part->validate().failure().code == errc::shape_mismatch);
  CHECK(part->value().elements().failure().message ==
        "shard of \"w\": the value has shape [3], wanted [4, 2]");
  CHECK(part->value().target().failure().code == errc::shape_mismatch);
  CHECK(narrow(shard, {0, 1, 2}).failure().code == errc::shape_mismatch);
  CHECK(narrow(sharded_tensor(shard), {0, 1, 2}).failure().code == errc::shape_mismatch);
}

TEST_CASE("part: boxes and descriptions that do not fit are refused") {
  floats values = counted(0, 8);
  const auto shard =
      sharded<floats>::borrow(from_rank_offsets("w", f32({4, 2}), {}).value(), values).value();
  const shard_metadata other = from_rank_offsets("v", f32({2, 2}), {}).value();
  const auto made = shard.part(other, {{2, 0}, {2, 2}});
  CHECK(in_order(made->value().elements().value()) == counted(4, 4));
  CHECK(made->value().is_part_of(&values));
  for (const box& outside : {box{{3, 0}, {2, 2}}, box{{0, 0}, {2, 3}}}) {
    CHECK(shard.part(other, outside).failure().code == errc::out_of_range);
    CHECK(sharded_tensor(shard).part(other, outside).failure().code == errc::out_of_range);
  }
  CHECK(shard.part(other, {{-1, 0}, {2, 2}}).failure().code == errc::invalid_argument);
  CHECK(shard.part(other, {{0}, {2}}).failure().code == errc::invalid_argument);
  CHECK(shard.part(other, {{0, 0}, {1, 2}}).failure().code == errc::shape_mismatch);
  CHECK(sharded_tensor(shard).part(other, {{0, 0}, {1, 2}}).failure().code == errc::shape_mismatch);
  shard_metadata nameless = other;
  nameless.key.clear();
  CHECK(shard.part(nameless, {{2, 0}, {2, 2}}).failure().code == errc::invalid_argument);
  CHECK(sharded_tensor(shard).without_data().part(nameless, {}).failure().code ==
        errc::invalid_argument);
}

}  // namespace shard_value_test
