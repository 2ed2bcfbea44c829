// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/strategy/read_shard.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

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

std::string wrong_shard(const memory_reader& reader, const shard_metadata& wanted) {
  const sharded_tensor room = with_room(wanted);
  const stored_tensor& stored = reader.tensors().front();
  CHECK(room.fill(
      [&](const box&, const mutable_host_view& into) {
        return detail::read_shard(reader, stored, wanted, into);
      },
      context{}));
  return wrong_in(room, 1, stored.spec.shape);
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
