// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace array_transfer_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

bool mentions(const error& failure, const std::string& text) {
  return failure.message.find(text) != std::string::npos;
}

array make(const recording_store& store, const array_metadata& metadata, const context& how = {}) {
  return array::create(store, key_of("w"), metadata, how).value();
}

TEST_CASE("memory that does not fit the selection is refused") {
  recording_store store;
  const array w = make(store, raw_metadata(dtype_kind::int32, {4, 4}, {2, 2}));
  auto data = counting({4, 4});
  const auto view = view_of(data, {4, 4});
  const auto code = [](const auto& status) {
    REQUIRE_FALSE(status);
    CHECK(mentions(status.failure(), "memory:w"));
    return status.failure().code;
  };
  CHECK(code(w.read(box{{0, 0}, {4, 3}}, view)) == errc::shape_mismatch);
  CHECK(code(w.write(box{{0, 0}, {4, 3}}, as_const(view))) == errc::shape_mismatch);
  CHECK(code(w.read(box{{1, 0}, {4, 4}}, view)) == errc::out_of_range);
  CHECK(code(w.read(box{{1, 0}, {4, 4}})) == errc::out_of_range);
  CHECK(code(w.write(box{{1, 0}, {4, 4}}, as_const(view))) == errc::out_of_range);
  CHECK(code(w.read(box{{0}, {4}}, view)) == errc::invalid_argument);
  auto other = view;
  other.type = dtype_kind::float32;
  CHECK(code(w.read(box::whole({4, 4}), other)) == errc::dtype_mismatch);
  CHECK(code(w.write(box::whole({4, 4}), as_const(other))) == errc::dtype_mismatch);
}

TEST_CASE("arrays of 2^63 elements and more are read and written in parts") {
  for (const bool sharded : {false, true}) {
    CAPTURE(sharded);
    for (const index_t extent : {index_t{1} << 40, INT64_MAX}) {
      CAPTURE(extent);
      recording_store store;
      array_metadata metadata = raw_metadata(dtype_kind::int32, {extent, extent}, {4, 4});
      if (sharded)
        metadata.codecs = {
            sharding_config{.chunk_shape = {2, 2}, .codecs = {bytes_spec()}}.to_spec().value()};
      make(store, metadata);
      const array vast = array::open(store, key_of("w")).value();
      CHECK(vast.spec().shape == dims{extent, extent});
      // At both ends, and across the edge of a chunk.
      for (const box& part : {box{{extent - 5, extent - 3}, {5, 3}}, box{{0, 2}, {3, 7}}}) {
        auto data = counting(part.shape);
        REQUIRE(vast.write(part, as_const(view_of(data, part.shape))));
        const tensor back = vast.read(part).value();
        CHECK(same_elements(back.view(), as_const(view_of(data, part.shape))));
      }
      const tensor rows = vast.read(selection({0, 2}, {2, 2}, {2, 3})).value();
      CHECK(rows.data<std::int32_t>()[3] == counting({3, 7})[14 + 3]);
      const error whole = vast.read(box::whole(vast.spec().shape)).failure();
      CHECK(whole.code == errc::out_of_range);
      CHECK(mentions(whole, "has 2^63 elements or more"));
      CHECK(mentions(whole, "memory:w"));
      CHECK(vast.read(box{{extent - 1, 0}, {2, 1}}).failure().code == errc::out_of_range);
      auto one = counting({1, 1});
      CHECK(vast.read(box::whole(vast.spec().shape), view_of(one, {1, 1})).failure().code ==
            errc::shape_mismatch);
      CHECK_FALSE(vast.view().value().has_value());
    }
  }
}

TEST_CASE("an endless array of nothing is refused by the budget for memory") {
  recording_store store;
  context how;
  how.limit.memory = std::size_t{1} << 30;
  auto metadata = raw_metadata(dtype_kind::float64, {index_t{1} << 50}, {1024});
  const array vast = make(store, metadata, how);
  const auto read = vast.read(box::whole(metadata.shape));
  REQUIRE_FALSE(read);
  CHECK(read.failure().code == errc::resource_limit);
  CHECK(mentions(read.failure(), "1073741824"));
}

TEST_CASE("progress is told in decoded bytes, to the context's callback or to a meter") {
  recording_store store;
  std::vector<std::string> phases;
  std::uint64_t done = 0;
  context how;
  how.progress = [&](const progress_event& event) {
    if (phases.empty() || phases.back() != event.phase) phases.emplace_back(event.phase);
    CHECK(event.bytes_total == 64);
    CHECK(event.item == "w");
    done = event.bytes_done;
  };
  const array w = make(store, raw_metadata(dtype_kind::int32, {4, 4}, {2, 2}), how);
  auto data = counting({4, 4});
  w.write(box::whole({4, 4}), as_const(view_of(data, {4, 4}))).value();
  CHECK(done == 64);
  done = 0;
  w.read(box::whole({4, 4}), view_of(data, {4, 4})).value();
  CHECK(done == 64);
  CHECK(phases == std::vector<std::string>{"write", "read"});

  phases.clear();
  std::uint64_t metered = 0;
  const progress_callback told = [&](const progress_event& event) { metered = event.bytes_done; };
  progress_meter meter(&told, "both", 100);
  w.write(box::whole({4, 4}), as_const(view_of(data, {4, 4})), write_options{.meter = &meter})
      .value();
  w.read(box{{0, 0}, {1, 3}}, read_options{.meter = &meter}).value();
  CHECK(metered == 76);
  CHECK(phases.empty());
}

TEST_CASE("a stop request ends the work") {
  recording_store store;
  const stop_source stop;
  context how;
  how.stop = stop.token();
  const array w = make(store, raw_metadata(dtype_kind::int32, {4, 4}, {2, 2}), how);
  stop.request_stop();
  auto data = counting({4, 4});
  const auto written = w.write(box::whole({4, 4}), as_const(view_of(data, {4, 4})));
  REQUIRE_FALSE(written);
  CHECK(written.failure().code == errc::cancelled);
  const auto read = w.read(box::whole({4, 4}));
  REQUIRE_FALSE(read);
  CHECK(read.failure().code == errc::cancelled);
  // Another context may go on.
  const context other;
  CHECK(w.read(box::whole({4, 4}), read_options{.how = &other}).has_value());
}

TEST_CASE("selections of nothing touch nothing") {
  recording_store store;
  const array w = make(store, raw_metadata(dtype_kind::int32, {4, 4}, {2, 2}));
  store->opens = 0;
  const std::vector<std::int32_t> none;
  CHECK(w.write(box{{4, 0}, {0, 4}}, view_of(none, {0, 4})));
  CHECK(w.read(box{{0, 2}, {4, 0}}).value().size() == 0);
  CHECK(store->opens == 0);
}

}}  // namespace array_transfer_test
