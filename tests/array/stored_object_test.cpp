// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include "../support/random_rounds.hpp"
#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stored_object_test {

// Shards that are truncated, bent, or made to lie.

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr const char* object_key = "w/c/0/0";

struct shard {
  recording_store store;
  array w;
  recording_store::bytes good;
  chunk_digests digests;
  std::vector<std::int32_t> data;
};

/// An array of one shard with 3 x 2 inner chunks of [2, 4], the last not stored.
shard make_shard(std::vector<codec_spec> inner_codecs, index_location location,
                 bool index_crc = true, const context& how = {}) {
  auto metadata = raw_metadata(dtype_kind::int32, {6, 8}, {6, 8});
  sharding_config config;
  config.chunk_shape = {2, 4};
  config.codecs = std::move(inner_codecs);
  config.location = location;
  if (!index_crc) config.index_codecs.pop_back();
  metadata.codecs = {config.to_spec().value()};
  recording_store store;
  shard out{store, array::create(store, key_of("w"), metadata, how).value(), {}, {}, {}};
  out.data = counting({6, 8});
  const auto view = view_of(out.data, {6, 8});
  fill_elements(subview(view, box{{4, 4}, {2, 4}}), bytes_view(std::vector<std::byte>(4)));
  out.w.write(box::whole({6, 8}), as_const(view), write_options{.collected = &out.digests}).value();
  out.good = store.at(object_key);
  return out;
}

/// Reads the shard after `bytes` took the place of its own. An error is `corrupt` and names the
/// chunk; anything else must be the data that were written.
bool is_refused(shard& of, recording_store::bytes bytes, bool strict) {
  of.store.set(object_key, std::move(bytes));
  const auto read =
      of.w.read(box::whole({6, 8}), read_options{.expected = strict ? &of.digests : nullptr});
  if (read) {
    if (strict)
      CHECK(elements_of(read->view()) == elements_of(view_of(std::as_const(of.data), {6, 8})));
    return false;
  }
  CAPTURE(read.failure().message);
  CHECK(read.failure().code == errc::corrupt);
  CHECK(read.failure().message.find("memory:w: chunk c/0/0: ") != std::string::npos);
  return true;
}

const std::vector<std::vector<codec_spec>> chains = {
    {bytes_spec()}, {bytes_spec(), crc32c_spec()}, {bytes_spec(), zstd_spec(), crc32c_spec()}};

TEST_CASE("truncated shards are refused at every length") {
  for (const auto& chain : chains) {
    for (const auto location : {index_location::end, index_location::start}) {
      shard of = make_shard(chain, location);
      CHECK_FALSE(is_refused(of, of.good, true));
      for (std::size_t size = 0; size < of.good.size(); ++size) {
        CAPTURE(size);
        recording_store::bytes cut(of.good.begin(),
                                   of.good.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK(is_refused(of, cut, false));
        CHECK(is_refused(of, cut, true));
      }
    }
  }
}

TEST_CASE("every flipped bit is found: by checksums of the index and chunks, or by the digests" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  for (std::size_t k = 0; k < chains.size(); ++k) {
    for (const auto location : {index_location::end, index_location::start}) {
      shard of = make_shard(chains[k], location);
      const std::uint64_t index_size = of.w.layout().shard()->index_size;
      const std::uint64_t index_at = of.w.layout().shard()->index_offset(of.good.size());
      for (std::size_t bit = 0; bit < of.good.size() * 8; ++bit) {
        if (zarrpoint_test::is_thinned && bit % 8 != bit / 8 % 8) continue;
        CAPTURE(bit);
        recording_store::bytes bent = of.good;
        bent[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        const bool in_index = bit / 8 >= index_at && bit / 8 < index_at + index_size;
        const bool in_gap = location == index_location::start && bit / 8 >= index_size &&
                            bit / 8 < (index_size + 63) / 64 * 64;
        const bool refused = is_refused(of, bent, false);
        CHECK(is_refused(of, bent, true) == !in_gap);
        if (in_index || (k > 0 && !in_gap)) CHECK(refused);
      }
    }
  }
}

TEST_CASE("errors name the chunk, the inner chunk and the codec") {
  shard of = make_shard(chains[2], index_location::end);
  recording_store::bytes bent = of.good;
  bent[bent.size() - 110] ^= std::byte{1};  // in the last inner chunk that is stored
  of.store.set(object_key, bent);
  const auto read = of.w.read(box::whole({6, 8}));
  REQUIRE_FALSE(read);
  CHECK(read.failure().message.find("chunk c/0/0: inner chunk [2, 0]: crc32c: ") !=
        std::string::npos);
  // Others can be read all the same.
  CHECK(of.w.read(box{{0, 0}, {4, 8}}).has_value());
}

/// The shard with entries of its index replaced, and no checksum to betray it.
recording_store::bytes with_entries(const shard& of,
                                    std::vector<std::pair<std::size_t, detail::shard_entry>> lies) {
  recording_store::bytes out = of.good;
  const std::size_t at = out.size() - of.w.layout().shard()->index_size;
  for (const auto& [slot, entry] : lies) {
    store_le<std::uint64_t>(out.data() + at + slot * 16, entry.offset);
    store_le<std::uint64_t>(out.data() + at + slot * 16 + 8, entry.size);
  }
  return out;
}

TEST_CASE("an index that lies is refused, whatever it says") {
  shard of = make_shard(chains[0], index_location::end, false);
  CHECK_FALSE(is_refused(of, of.good, true));
  const std::uint64_t mark = UINT64_MAX;
  for (const detail::shard_entry lie :
       {detail::shard_entry{mark, 32}, detail::shard_entry{0, mark},
        detail::shard_entry{mark - 31, 32}, detail::shard_entry{mark - 1, mark - 1},
        detail::shard_entry{0, mark - 1}, detail::shard_entry{160, 32},
        detail::shard_entry{200, 32}, detail::shard_entry{of.good.size(), 32},
        detail::shard_entry{16, 32}, detail::shard_entry{32, 33}, detail::shard_entry{32, 31},
        detail::shard_entry{32, 0}, detail::shard_entry{std::uint64_t{1} << 63, 32}}) {
    CAPTURE(lie.offset);
    CAPTURE(lie.size);
    CHECK(is_refused(of, with_entries(of, {{1, lie}}), false));
  }
  // An inner chunk that is said to be absent reads as fill value, unless the digests know better.
  const auto hole = with_entries(of, {{1, detail::shard_entry{}}});
  CHECK_FALSE(is_refused(of, hole, false));
  CHECK(is_refused(of, hole, true));
  // Swapped inner chunks are well formed; only digests can tell.
  const auto swapped = with_entries(of, {{0, {32, 32}}, {1, {0, 32}}});
  CHECK_FALSE(is_refused(of, swapped, false));
  CHECK(is_refused(of, swapped, true));
}

TEST_CASE("an index larger than its object costs nothing") {
  limited_resource budget(std::size_t{1} << 20);
  context how;
  how.resource = &budget;
  auto metadata = sharded_metadata(raw_metadata(dtype_kind::uint8, {1 << 24}, {1 << 24}),
                                   {1});  // an index of 256 MiB
  recording_store store;
  const array w = array::create(store, key_of("w"), metadata, how).value();
  store.set("w/c/0", recording_store::bytes(100));
  const auto read = w.read(box{{5}, {1}});
  REQUIRE_FALSE(read);
  CHECK(read.failure().code == errc::corrupt);
  CHECK(read.failure().message.find("too few for the shard index") != std::string::npos);
  CHECK(budget.peak() < 1024);
}

TEST_CASE("bombs keep to the budget for memory") {
  // 64 MiB of zeros in a few KiB, where an inner chunk has 32 bytes, and where it has 64 MiB.
  const std::vector<std::byte> zeros(std::size_t{64} << 20);
  const codec_spec specs[] = {bytes_spec(), zstd_spec()};
  const auto big = codec_chain::resolve(
      specs, {dtype_kind::uint8, {static_cast<index_t>(zeros.size())}}, all_codecs::table());
  codec_workspace scratch;
  const bytes_view frame =
      big.value()
          .encode(
              dense_view(zeros.data(), {dtype_kind::uint8, {static_cast<index_t>(zeros.size())}}),
              scratch)
          .value();
  CHECK(frame.size() < 10000);
  for (const index_t extent : {index_t{32}, static_cast<index_t>(zeros.size())}) {
    context how;
    how.limit.memory = std::size_t{16} << 20;
    auto metadata = raw_metadata(dtype_kind::uint8, {extent}, {extent});
    metadata.codecs = {bytes_spec(), zstd_spec()};
    recording_store store;
    const array w = array::create(store, key_of("w"), metadata, how).value();
    store.set("w/c/0", {frame.begin(), frame.end()});
    std::uint8_t one = 0;
    const auto read = w.read(
        box{{3}, {1}}, dense_view(reinterpret_cast<std::byte*>(&one), {dtype_kind::uint8, {1}}));
    REQUIRE_FALSE(read);
    CAPTURE(read.failure().message);
    CHECK(read.failure().code == (extent == 32 ? errc::corrupt : errc::resource_limit));
  }
}

TEST_CASE("codecs around a whole shard are undone before it is read") {
  for (const auto& chain : chains) {
    for (const auto location : {index_location::end, index_location::start}) {
      shard of = make_shard(chain, location);
      array_metadata metadata = of.w.metadata();
      metadata.codecs.push_back(zstd_spec());
      metadata.codecs.push_back(crc32c_spec());
      // What a writer would have made: the shard as bytes, compressed, with a checksum.
      const codec_spec around[] = {{"bytes"}, zstd_spec(), crc32c_spec()};
      const tensor_spec as_array{dtype_kind::uint8, {static_cast<index_t>(of.good.size())}};
      codec_workspace scratch;
      const bytes_view stored =
          codec_chain::resolve(around, as_array, all_codecs::table())
              .value()
              .encode(dense_view(std::as_const(of.good).data(), as_array), scratch)
              .value();
      of.store.set(object_key, {stored.begin(), stored.end()});
      const array w = array::from_metadata(of.store, key_of("w"), metadata).value();
      const auto read = w.read(box::whole({6, 8}));
      REQUIRE_MESSAGE(read.has_value(), (read ? "" : to_string(read.failure())));
      CHECK(elements_of(read->view()) == elements_of(view_of(std::as_const(of.data), {6, 8})));
      CHECK(w.read(selection({1, 1}, {2, 3}, {3, 2})).has_value());

      for (std::size_t size = 0; size < stored.size(); ++size) {
        of.store.set(object_key,
                     {stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(size)});
        const auto cut = w.read(box::whole({6, 8}));
        REQUIRE_FALSE(cut);
        CHECK(cut.failure().code == errc::corrupt);
      }
    }
  }
}

TEST_CASE("a shard that decodes to more than shards can have is refused") {
  shard of = make_shard(chains[0], index_location::end);
  array_metadata metadata = of.w.metadata();
  metadata.codecs.push_back(zstd_spec());
  const std::vector<std::byte> zeros(std::size_t{8} << 20);
  const tensor_spec as_array{dtype_kind::uint8, {static_cast<index_t>(zeros.size())}};
  const codec_spec around[] = {{"bytes"}, zstd_spec()};
  codec_workspace scratch;
  const bytes_view stored = codec_chain::resolve(around, as_array, all_codecs::table())
                                .value()
                                .encode(dense_view(zeros.data(), as_array), scratch)
                                .value();
  of.store.set(object_key, {stored.begin(), stored.end()});
  const auto read =
      array::from_metadata(of.store, key_of("w"), metadata).value().read(box::whole({6, 8}));
  REQUIRE_FALSE(read);
  CHECK(read.failure().code == errc::corrupt);
  CHECK(read.failure().message.find("bytes or more; the limit is") != std::string::npos);
}

}  // namespace

}  // namespace stored_object_test
