// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/strategy/zarr_strategies.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace zarr_loader_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("zarr loader: tensors and grids of objects by key, and what is not there") {
  const memory_store store;
  CHECK(
      save_by(2, store, [](int rank) {
        const auto about = [&](std::string key) {
          return from_rank_offsets(std::move(key), {dtype_kind::int16, {2}},
                                   {.offsets = {{0, rank, 2}}})
              .value();
        };
        return state{
            {"1", with_values(about("b"), 1)},
            {"2", with_values(about("a/x"), 1)},
            {"3",
             sharded_object::make("o", json_text{std::to_string(rank)}, {{2}, {rank}, {}}).value()},
            {"step", 1}};
      }) == "done");
  const load_job job{store, "here", {}, context{}};
  const auto reader = zarr_loader{}.open(job);
  REQUIRE(reader);
  REQUIRE((*reader)->tensors().size() == 2);
  CHECK((*reader)->tensors()[0].key == "a/x");
  CHECK((*reader)->tensors()[1].key == "b");
  CHECK((*reader)->tensors()[1].spec.shape == dims{4});
  REQUIRE((*reader)->objects().size() == 1);
  CHECK((*reader)->objects()[0].global_shape == dims{2});
  CHECK(as_text((*reader)->read_object({"o", {2}, {1}}).value()) == "1");
  CHECK((*reader)->read_object({"o", {3}, {1}}).failure().code == errc::shape_mismatch);
  CHECK((*reader)->read_object({"o", {2}, {2}}).failure().code == errc::out_of_range);
  CHECK((*reader)->read_object({"b", {2}, {1}}).failure().code == errc::not_found);
  tensor into = tensor::make({dtype_kind::int16, {2}}).value();
  CHECK((*reader)->read("b", box{{1}, {2}}, into.mutable_view()));
  CHECK((*reader)->read("b", box{{3}, {2}}, into.mutable_view()).failure().code ==
        errc::out_of_range);
  CHECK((*reader)->read("o", box{{0}, {2}}, into.mutable_view()).failure().code == errc::not_found);
  CHECK(json_common_loader{}.load_common(job).value().find("step") != nullptr);
  CHECK(zarr_loader{}.open({memory_store(), "nowhere", {}, context{}}).failure().code ==
        errc::not_found);
}

TEST_CASE("zarr loader: a job is opened once, a copy of it for another store by itself") {
  const memory_store one;
  const memory_store other;
  CHECK(save_by(1, one, [](int) { return state{{"x", 1}}; }) == "done");
  CHECK(save_by(1, other, [](int) { return state{{"y", 2}}; }) == "done");
  const auto common = [](const load_job& job) {
    const auto read = json_common_loader{}.load_common(job);
    return read ? dump_json(*read, json_style::compact) : to_string(read.failure());
  };
  const load_job job{one, "one", {}, context{}};
  CHECK(common(job) == R"({"x":1})");
  REQUIRE(one.erase(store_key::parse("zarr.json").value()));
  CHECK(common(job) == R"({"x":1})");  // what was found is not looked for again
  load_job copy = job;
  CHECK(common(copy).starts_with("not_found"));
  copy.store = other;
  CHECK(common(copy) == R"({"y":2})");
  const load_job third = copy;
  copy = job;
  CHECK(common(copy).starts_with("not_found"));
  CHECK(common(third) == R"({"y":2})");
}

}  // namespace zarr_loader_test
