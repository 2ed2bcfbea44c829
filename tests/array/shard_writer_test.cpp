// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/write/shard_writer.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace shard_writer_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

struct fixture {
  recording_store store;
  detail::array_state state;
  std::shared_ptr<scratch_pool> pool = std::make_shared<scratch_pool>(limits{});

  explicit fixture(index_location location)
      : state{store, store_key::root(), metadata(location),
              array_layout::resolve(metadata(location), all_codecs::table(), limits{}).value(),
              context{}} {}

  static array_metadata metadata(index_location location) {
    return sharded_metadata(raw_metadata(dtype_kind::uint8, {8}, {8}), {2}, location);
  }
  std::shared_ptr<detail::shard_writer> begin(std::size_t items) {
    auto out = std::make_shared<detail::shard_writer>(state, key_of("s"), nullptr);
    out->begin(items, true, *pool).value();
    return out;
  }
  detail::encoded_chunk chunk(std::size_t slot, bytes_view bytes) {
    detail::encoded_chunk out;
    out.absent = bytes.empty();
    out.slot = slot;
    out.bytes = bytes;
    out.digest = crc32c(bytes);
    return out;
  }
};

const std::vector<std::byte> data(8, std::byte{7});

TEST_CASE("inner chunks are stored in order, in whatever order they come") {
  recording_store::bytes reference;
  std::vector<std::size_t> order{0, 1, 2, 3};
  do {
    fixture f(index_location::end);
    const auto writer = f.begin(4);
    bool complete = false;
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK_FALSE(complete);
      const std::size_t position = order[i];
      const bytes_view bytes = position == 1 ? bytes_view() : bytes_view(data).first(position + 1);
      complete = writer->place(position, f.chunk(position, bytes)).value();
    }
    REQUIRE(complete);
    const object_digest digest = writer->finish(*f.pool).value();
    if (reference.empty()) reference = f.store.at("s");
    CHECK(f.store.at("s") == reference);
    CHECK(digest.size == 1 + 3 + 4 + 4 * 16 + 4);
    CHECK_FALSE(digest.crc32c[1]);
    CHECK(digest.crc32c[2] == crc32c(bytes_view(data).first(3)));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("an index at the start leaves a gap up to a multiple of 64") {
  fixture f(index_location::start);
  const auto writer = f.begin(1);
  CHECK(writer->place(0, f.chunk(3, data)).value());
  CHECK(writer->finish(*f.pool).value().size == 128 + 8);
  CHECK(f.store.at("s").size() == 128 + 8);
  CHECK(f.store.at("s")[128] == std::byte{7});
}

TEST_CASE("a shard of nothing is erased") {
  fixture f(index_location::end);
  f.store.set("s", recording_store::bytes(3));
  const auto writer = f.begin(2);
  CHECK_FALSE(writer->place(1, f.chunk(1, {})).value());
  CHECK(writer->place(0, f.chunk(0, {})).value());
  CHECK(writer->finish(*f.pool).value().absent());
  CHECK_FALSE(f.store.has("s"));
}

TEST_CASE("those behind a failure are let go, those before it are not") {
  fixture f(index_location::end);
  const auto writer = f.begin(4);
  CHECK(writer->wait_until_near(0, 1));
  bool behind = true;
  bool before = false;
  std::thread late([&] { behind = writer->wait_until_near(3, 1); });
  std::thread early([&] { before = writer->wait_until_near(1, 1); });
  writer->fail(2);
  late.join();
  CHECK_FALSE(behind);
  CHECK_FALSE(writer->place(0, f.chunk(0, data)).value());
  early.join();
  CHECK(before);
}

}}  // namespace shard_writer_test
