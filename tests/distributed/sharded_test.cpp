// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/registry.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace sharded_test {

namespace {

using namespace zarrpoint;

shard_metadata row_of(dims local = {2, 3}) {
  return from_rank_offsets("w", {dtype_kind::float32, local}, {.offsets = {{0, 1, 4}}}).value();
}

/// Writes 0, 1, 2, ... in row-major order.
result<void> count_up(const box&, const mutable_host_view& into) {
  std::vector<float> numbers(static_cast<std::size_t>(element_count(into.shape).value()));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  copy_elements(into, dense_view(reinterpret_cast<const std::byte*>(numbers.data()), into.spec()));
  return {};
}

/// Rows of a buffer: only a registry has a handler for it.
struct rows {
  std::vector<float> numbers;
  index_t width = 1;
};
struct rows_handler {
  static constexpr std::string_view typestr = "array";
  using space = host_space;
  static constexpr dtype type = dtype_kind::float32;
  static tensor_spec spec(const rows& value) {
    return {type, {static_cast<index_t>(value.numbers.size()) / value.width, value.width}};
  }
  static host_view view(const rows& value) {
    return dense_view(reinterpret_cast<const std::byte*>(value.numbers.data()), spec(value));
  }
  static result<rows> make(const tensor_spec& stored, const place<space>&) {
    return rows{std::vector<float>(static_cast<std::size_t>(element_count(stored.shape).value())),
                stored.shape[1]};
  }
  static mutable_host_view writable(rows& target) {
    return dense_view(reinterpret_cast<std::byte*>(target.numbers.data()), spec(target));
  }
};
using types = registry<zarrpoint::bind<rows, rows_handler>>;

}  // namespace

TEST_CASE("sharded: by a registry, of a type that has no handler of its own") {
  static_assert(!savable<rows>);
  rows mine{std::vector<float>(6), 3};
  const auto typed = shard<types>("w", mine, {.offsets = {{0, 1, 4}}}).value();
  CHECK(&typed.value() == &mine);
  CHECK(typed.metadata().global_shape == dims{8, 3});
  const sharded_tensor any = typed;
  CHECK(any.get<rows>() == &mine);
  CHECK(any.get<std::vector<float>>() == nullptr);
  CHECK(any.is_writable());
  CHECK(any.validate());
  REQUIRE(any.fill(count_up, with_scratch(context{})));
  CHECK(mine.numbers == std::vector<float>{0, 1, 2, 3, 4, 5});
  // A value of the wrong shape is refused; one that is missing is made by the handler.
  using bound = sharded<rows, rows_handler>;
  CHECK(bound::make(row_of(), rows{std::vector<float>(6), 2}).failure().code ==
        errc::shape_mismatch);
  auto asked = bound::request(row_of()).value();
  REQUIRE(asked.init_data());
  CHECK(asked.value().numbers.size() == 6);
  // What the registry does not know goes by its own handler, as without one.
  const auto plain = shard<types>("v", std::vector<float>{1, 2}).value();
  static_assert(std::same_as<decltype(plain),
                             const sharded<std::vector<float>, handler_of<std::vector<float>>>>);
  CHECK(shard_flat<types>("f", std::vector<float>{1, 2}, {.local_shape = {2, 4}, .range = {3, 5}}));
  // A type is the same by whichever handler.
  CHECK(sharded_tensor(shard("v", std::vector<float>{1}).value()).get<std::vector<float>>() !=
        nullptr);
}

TEST_CASE("sharded: an lvalue is borrowed, an rvalue kept, and copies share it") {
  std::vector<float> mine{1, 2, 3};
  const auto borrowed = shard("w", mine, {.offsets = {{0, 1, 4}}}).value();
  CHECK(&borrowed.value() == &mine);
  CHECK(borrowed.key() == "w");
  CHECK(borrowed.replica().is_main());
  CHECK(borrowed.metadata().global_shape == dims{12});
  CHECK(borrowed.metadata().global_offset == dims{3});
  const auto kept = shard("w", std::vector<float>{4, 5}, {}).value();
  sharded_tensor any = kept;
  CHECK(any.get<std::vector<float>>() == &kept.value());
  CHECK(any.get<std::vector<double>>() == nullptr);
  CHECK(any.is_writable());
  CHECK_FALSE(any.without_data().has_data());
  CHECK_FALSE(any.without_data().is_writable());
  shard_metadata other = any.metadata();
  other.key = "v";
  CHECK(any.with(other).key() == "v");
  CHECK(any.with(other).get<std::vector<float>>() == &kept.value());
  const auto flat = shard_flat("f", mine, {.local_shape = {2, 4}, .range = {3, 6}}).value();
  CHECK(flat.metadata().data_shape() == dims{3});
}

TEST_CASE("sharded: a view is copied, whether it is an lvalue or const, and views the same") {
  std::vector<float> all{0, 1, 2, 3, 4, 5};
  std::vector<sharded_tensor> shards;
  for (std::size_t i = 0; i < 3; ++i) {
    std::span<float> part(all.data() + 2 * i, 2);  // another one in each round
    const auto place = static_cast<index_t>(i);
    shards.emplace_back(shard("w", part, {.offsets = {{0, place, 3}}}).value());
    part = std::span<float>(all.data(), 2);
  }
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(shards[i].get<std::span<float>>()->data() == all.data() + 2 * i);
  // A load writes where the view looks.
  REQUIRE(shards[2].fill(count_up, with_scratch(context{})));
  CHECK(all == std::vector<float>{0, 1, 2, 3, 0, 1});
  const std::span<const float> read(all);
  const auto constant = shard("c", read).value();
  CHECK(constant.value().data() == all.data());
  CHECK(&constant.value() != &read);
  const auto flat = shard_flat("f", read, {.local_shape = {3, 4}, .range = {3, 9}}).value();
  CHECK(&flat.value() != &read);
}

TEST_CASE("sharded: a value that is not of its shard is refused") {
  using floats = std::vector<float>;
  CHECK(sharded<floats>::make(row_of(), floats(6)));
  CHECK(sharded<floats>::make(row_of(), floats(5)).failure().code == errc::shape_mismatch);
  CHECK(sharded<std::vector<double>>::make(row_of(), std::vector<double>(6)).failure().code ==
        errc::dtype_mismatch);
  shard_metadata outside = row_of();
  outside.fragmentation.reset();
  outside.global_offset[0] = 7;
  CHECK(sharded<floats>::request(outside).failure().code == errc::out_of_range);
  CHECK(shard("", floats(2)).failure().code == errc::invalid_argument);
  CHECK_FALSE(sharded_tensor(outside).validate());
  const sharded_tensor renamed = sharded_tensor(shard("w", floats(6)).value()).with(row_of({3, 2}));
  CHECK(renamed.validate());
  CHECK_FALSE(renamed.with(row_of({3, 3})).validate());
}

TEST_CASE("sharded: elements are staged from, and filled into, whatever holds them") {
  std::vector<float> numbers{5, 6, 7, 8, 9, 10};
  const sharded_tensor vector = sharded<std::vector<float>>::borrow(row_of(), numbers).value();
  CHECK(vector.stage(default_resource()).value().view.shape == dims{2, 3});
  REQUIRE(vector.fill(count_up, context{}));
  CHECK(numbers == std::vector<float>{0, 1, 2, 3, 4, 5});
  const sharded_tensor fixed =
      sharded<const std::vector<float>>::make(row_of(), std::vector<float>(6)).value();
  CHECK_FALSE(fixed.is_writable());
  CHECK(fixed.fill(count_up, context{}).failure().message.find("read-only") != std::string::npos);
  const sharded_tensor request(row_of());
  CHECK(request.stage(default_resource()).failure().code == errc::invalid_argument);
  CHECK(request.fill(count_up, context{}).failure().code == errc::invalid_argument);
  const auto refused = vector.fill(
      [](const box&, const mutable_host_view&) -> result<void> {
        return error{errc::io, "no"};
      },
      context{});
  CHECK(refused.failure().code == errc::io);
}

TEST_CASE("sharded: what has no value is given one, of zeros or by an initialiser") {
  sharded_tensor request(row_of());
  REQUIRE(request.init_data(default_resource()));
  const tensor* const made = request.get<tensor>();
  REQUIRE(made != nullptr);
  CHECK(made->shape() == dims{2, 3});
  for (std::size_t i = 0; i < made->size(); ++i) CHECK(made->data<float>()[i] == 0);
  REQUIRE(request.init_data(default_resource()));
  CHECK(request.get<tensor>() == made);
  auto typed = sharded<std::vector<float>>::request(row_of()).value();
  REQUIRE(typed.init_data([](std::vector<float>& value) { value.assign(6, 2.5F); }));
  CHECK(typed.value() == std::vector<float>(6, 2.5F));
  REQUIRE(typed.init_data([](std::vector<float>& value) { value.clear(); }));
  CHECK(typed.value().size() == 6);
  CHECK(typed.validate());
  CHECK_FALSE(typed.without_data().has_data());
}

}  // namespace sharded_test
