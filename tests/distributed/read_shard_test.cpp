// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/strategy/read_shard.hpp>

#include "../support/random_rounds.hpp"
#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <random>
#include <span>
#include <string>
#include <vector>

namespace read_shard_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

/// A tensor in memory, which keeps count of the boxes that are read.
class memory_reader final : public sharded_reader {
 public:
  explicit memory_reader(const dims& shape)
      : one_{"w", {dtype_kind::float32, shape}, shape},
        values_(values_of(from_rank_offsets("w", one_.spec, {}).value(), 1)) {}

  std::span<const stored_tensor> tensors() const override { return {&one_, 1}; }
  result<void> read(std::string_view key, const box& part,
                    const mutable_host_view& into) const override {
    CHECK(key == "w");
    ++reads;
    copy_elements(into, subview(values_.view(), selection(part)));
    return {};
  }

  mutable int reads = 0;

 private:
  stored_tensor one_;
  tensor values_;
};

std::string wrong_shard(const memory_reader& reader, const shard_metadata& wanted,
                        shard_padding padding = shard_padding::zeros) {
  const sharded_tensor room = with_room(wanted);
  const stored_tensor& stored = reader.tensors().front();
  CHECK(room.fill(
      [&](const box&, const mutable_host_view& into) {
        return detail::read_shard({reader, stored, padding}, wanted, into);
      },
      context{}));
  return wrong_in(room, 1, stored.spec.shape, padding);
}

/// The same in two parts along each axis of the local value, as a device's shards are read.
std::string wrong_parts(const memory_reader& reader, const shard_metadata& wanted,
                        shard_padding padding) {
  const sharded_tensor room = with_room(wanted);
  const stored_tensor& stored = reader.tensors().front();
  CHECK(room.fill(
      [&](const box& all, const mutable_host_view& into) -> result<void> {
        for (std::size_t axis = 0; axis < all.rank(); ++axis) {
          box part = all;
          part.shape[axis] /= 2;
          ZARRPOINT_CHECK(detail::read_part_of_shard({reader, stored, padding}, wanted, part,
                                                     subview(into, selection(part))));
          part.offset[axis] = part.shape[axis];
          part.shape[axis] = all.shape[axis] - part.offset[axis];
          ZARRPOINT_CHECK(detail::read_part_of_shard({reader, stored, padding}, wanted, part,
                                                     subview(into, selection(part))));
        }
        return {};
      },
      context{}));
  return wrong_in(room, 1, stored.spec.shape, padding);
}

}  // namespace

TEST_CASE("read shard: boxes, flat ranges, and prepended axes") {
  const memory_reader reader({4, 6, 5});
  shard_metadata one = from_rank_offsets("w", {dtype_kind::float32, {3, 5}},
                                         {.offsets = {{0, 2, 4}, {1, 1, 2}}, .prepended_axes = 1})
                           .value();
  CHECK(wrong_shard(reader, one) == "");
  CHECK(reader.reads == 1);
  for (index_t start = 0; start <= 15; ++start) {
    for (index_t stop = start; stop <= 15; ++stop) {
      one.range = flat_range{start, stop};
      reader.reads = 0;
      CHECK(wrong_shard(reader, one) == "");
      CHECK(reader.reads <= 3);
    }
  }
}

TEST_CASE("read shard: beyond the stored tensor there are zeros, also for a flat range") {
  const memory_reader reader({4, 5});
  for (index_t row = 0; row < 3; ++row) {
    shard_metadata one{.key = "w",
                       .type = dtype_kind::float32,
                       .local_shape = {2, 7},
                       .global_shape = {6, 7},
                       .global_offset = {2 * row, 0},
                       .allow_shape_mismatch = true};
    CHECK(wrong_shard(reader, one) == "");
    for (index_t start = 0; start < 14; start += 3) {
      one.range = flat_range{start, 14};
      CHECK(wrong_shard(reader, one) == "");
    }
  }
}

TEST_CASE("read shard: beyond the stored tensor the last elements are repeated, along each axis") {
  const memory_reader reader({4, 5});
  constexpr auto replicate = shard_padding::replicate;
  // Shards within it, across an edge, at the corner, and all beyond it along one axis or both.
  for (index_t row = 0; row < 4; ++row) {
    for (index_t column = 0; column < 3; ++column) {
      CAPTURE(row);
      CAPTURE(column);
      shard_metadata one{.key = "w",
                         .type = dtype_kind::float32,
                         .local_shape = {3, 4},
                         .global_shape = {12, 12},
                         .global_offset = {3 * row, 4 * column},
                         .allow_shape_mismatch = true};
      reader.reads = 0;
      CHECK(wrong_shard(reader, one, replicate) == "");
      CHECK(reader.reads == 1);
      CHECK(wrong_parts(reader, one, replicate) == "");
      for (index_t start = 0; start <= 12; start += 2) {
        one.range = flat_range{start, 12};
        CHECK(wrong_shard(reader, one, replicate) == "");
        CHECK(wrong_parts(reader, one, replicate) == "");
      }
    }
  }
  // A shard that is smaller than the stored tensor, and a layer that is not stored.
  CHECK(wrong_shard(reader, from_rank_offsets("w", {dtype_kind::float32, {3, 2}}, {}).value(),
                    replicate) == "");
  const memory_reader layers({3, 4, 5});
  for (index_t layer = 0; layer < 6; ++layer) {
    const auto one = from_rank_offsets(
        "w", {dtype_kind::float32, {5, 7}},
        {.offsets = {{0, layer, 6}}, .prepended_axes = 1, .allow_shape_mismatch = true});
    CHECK(wrong_shard(layers, one.value(), replicate) == "");
  }
}

TEST_CASE("read shard: where nothing is stored there is nothing to repeat: zeros") {
  const memory_reader reader({0, 5});
  shard_metadata one{.key = "w",
                     .type = dtype_kind::float32,
                     .local_shape = {2, 7},
                     .global_shape = {2, 7},
                     .global_offset = {0, 0},
                     .allow_shape_mismatch = true};
  for (const auto padding : {shard_padding::zeros, shard_padding::replicate}) {
    CHECK(wrong_shard(reader, one, padding) == "");
    one.range = flat_range{3, 9};
    CHECK(wrong_shard(reader, one, padding) == "");
    one.range.reset();
  }
  CHECK(reader.reads == 0);
}

TEST_CASE("read shard: random tensors of more axes, padded along some of them") {
  std::mt19937 random(5);
  const auto below = [&](index_t n) {
    return static_cast<index_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < random_rounds(400); ++round) {
    dims stored;
    shard_metadata one{.key = "w", .type = dtype_kind::float32, .allow_shape_mismatch = true};
    for (index_t rank = 1 + below(4); rank > 0; --rank) {
      stored.push_back(1 + below(5));
      const index_t global = 1 + below(8);
      const index_t offset = below(global);
      one.global_shape.push_back(global);
      one.global_offset.push_back(offset);
      one.local_shape.push_back(1 + below(global - offset));
    }
    const index_t volume = element_count(one.local_shape).value();
    if (below(2) == 0) one.range = flat_range{below(volume), volume};
    const memory_reader reader(stored);
    for (const auto padding : {shard_padding::zeros, shard_padding::replicate}) {
      CHECK(wrong_shard(reader, one, padding) == "");
      CHECK(wrong_parts(reader, one, padding) == "");
    }
  }
}

TEST_CASE("read shard: a request that is not of the stored tensor is refused") {
  const stored_tensor stored{"w", {dtype_kind::float32, {4, 5}}, {4, 5}};
  shard_metadata one = from_rank_offsets("w", {dtype_kind::float32, {4, 5}}, {}).value();
  CHECK(detail::check_request(stored, one, false));
  one.type = dtype_kind::float64;
  CHECK(detail::check_request(stored, one, false).failure().code == errc::dtype_mismatch);
  CHECK(detail::check_request(stored, one, true));
  one.type = dtype_kind::string;
  CHECK(detail::check_request(stored, one, true).failure().code == errc::unsupported);
  one = from_rank_offsets("w", {dtype_kind::float32, {20}}, {.allow_shape_mismatch = true}).value();
  const auto refused = detail::check_request(stored, one, false);
  CHECK(refused.failure().message ==
        "Global shape mismatch for loaded ((4, 5)) and expected ((20)) tensor for key w");
}

}  // namespace read_shard_test
