// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/strategy/jobs.hpp>

#include <doctest/doctest.h>

#include <span>

namespace jobs_test {

using namespace zarrpoint;

namespace {

/// A format that has one tensor and knows nothing of objects.
class plain_reader final : public sharded_reader {
 public:
  std::span<const stored_tensor> tensors() const override { return {&one_, 1}; }
  result<void> read(std::string_view, const box&, const mutable_host_view&) const override {
    return {};
  }

 private:
  stored_tensor one_{"w", {dtype_kind::float32, {4}}, {2}};
};

}  // namespace

TEST_CASE("jobs: a reader without objects says so, and has none") {
  const plain_reader reader;
  CHECK(reader.tensors().front().key == "w");
  CHECK(reader.objects().empty());
  const auto read = reader.read_object({"o", {2}, {1}});
  REQUIRE_FALSE(read);
  CHECK(to_string(read.failure()) == "unsupported: object o/shard_1_2: this format has no objects");
}

TEST_CASE("jobs: strategies are named as a pair") {
  CHECK(to_string(strategy_id{"zarr", 3}) == "(zarr, 3)");
  CHECK(strategy_id{"zarr", 3} == strategy_id{"zarr", 3});
  CHECK_FALSE(strategy_id{"zarr", 3} == strategy_id{"zarr", 1});
}

}  // namespace jobs_test
