// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/write/chunk_encoder.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace chunk_encoder_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

struct fixture {
  explicit fixture(const array_metadata& metadata)
      : state{recording_store(), store_key::root(), metadata,
              array_layout::resolve(metadata, all_codecs::table(), limits{}).value(), context{}} {}

  detail::array_state state;
  scratch_pool pool{limits{}};
  write_options options{};

  /// The item `i` of a write of `part` from `from`, encoded.
  result<detail::encoded_chunk> encode(const selection& part, const host_view& from,
                                       std::size_t i) {
    const detail::chunk_encoder encoder(state, from.type, options, pool);
    const detail::box_plan plan =
        detail::box_plan::make(state.layout.grid(), part, detail::plan_scope::whole_objects)
            .value();
    cost = encoder.cost(plan.at(i));
    return encoder.encode(plan.at(i), subview(from, plan.at(i).destination()), nullptr);
  }
  std::size_t cost = 0;
};

TEST_CASE("a whole dense chunk of an uncompressed array is the memory of the caller") {
  fixture f(raw_metadata(dtype_kind::int32, {4, 4}, {2, 4}));
  chunk_digests digests;
  f.options.collected = &digests;
  const auto data = counting({4, 4});
  const auto chunk = f.encode(box::whole({4, 4}), view_of(data, {4, 4}), 1).value();
  CHECK_FALSE(chunk.absent);
  CHECK(chunk.bytes.data() == reinterpret_cast<const std::byte*>(data.data() + 8));
  CHECK(chunk.digest == crc32c(chunk.bytes));
  CHECK(f.cost == 0);
  CHECK(f.pool.budget().peak() == 0);
}

TEST_CASE("digests are taken only where they are wanted") {
  fixture f(raw_metadata(dtype_kind::int32, {4}, {4}));
  const auto data = counting({4});
  CHECK_FALSE(f.encode(box::whole({4}), view_of(data, {4}), 0).value().digest);
}

TEST_CASE("parts are padded, and cost what they take") {
  fixture f(raw_metadata(dtype_kind::int32, {3}, {4}));
  const auto data = counting({3});
  const auto chunk = f.encode(box::whole({3}), view_of(data, {3}), 0).value();
  REQUIRE(chunk.bytes.size() == 16);
  CHECK(load_le<std::uint32_t>(chunk.bytes.data() + 8) == 3);
  CHECK(load_le<std::uint32_t>(chunk.bytes.data() + 12) == 0);
  CHECK(f.cost == 32);
}

TEST_CASE("what holds only the fill value is absent, whole or in part") {
  fixture f(raw_metadata(dtype_kind::int32, {6}, {4}));
  const std::vector<std::int32_t> zeros(6);
  CHECK(f.encode(box::whole({6}), view_of(zeros, {6}), 0).value().absent);
  CHECK(f.encode(box::whole({6}), view_of(zeros, {6}), 1).value().absent);
  CHECK(f.encode(box{{1}, {2}}, view_of(zeros, {2}), 0).value().absent);
  f.options.elide_fill = false;
  CHECK_FALSE(f.encode(box::whole({6}), view_of(zeros, {6}), 0).value().absent);
  CHECK_FALSE(f.encode(box{{1}, {2}}, view_of(zeros, {2}), 0).value().absent);
}

TEST_CASE("an inner chunk that a write does not touch and that was not there stays away") {
  fixture f(sharded_metadata(raw_metadata(dtype_kind::int32, {4}, {4}), {2}));
  f.options.elide_fill = false;
  const auto data = counting({2});
  CHECK(f.encode(box{{2}, {2}}, view_of(data, {2}), 0).value().absent);
  CHECK_FALSE(f.encode(box{{2}, {2}}, view_of(data, {2}), 1).value().absent);
}

}}  // namespace chunk_encoder_test
