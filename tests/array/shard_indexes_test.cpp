// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace shard_indexes_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

constexpr std::size_t index_bytes = 8 * 16 + 4;  // of the shards below

/// A store over another that counts reads of indexes and knows better which versions there are.
class watched_store {
 public:
  struct state {
    std::atomic<int> indexes{0}, small{0};
    std::size_t index_size = index_bytes;
    std::optional<blob_version> always{};
  };

  /// By a pointer, since a store is asked whether it is one where it could be made of one.
  explicit watched_store(std::unique_ptr<const any_store> base) : base_(*base) {}
  state* operator->() const { return state_.get(); }

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    ZARRPOINT_TRY(opened, base_.open(key));
    if (opened == nullptr) return std::unique_ptr<blob>();
    return std::unique_ptr<blob>(std::make_unique<object>(state_, std::move(opened)));
  }
  std::string describe(const store_key& key) const { return base_.describe(key); }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    return base_.create(key);
  }
  result<void> put(const store_key& key, bytes_view bytes) const { return base_.put(key, bytes); }
  result<bool> erase(const store_key& key) const { return base_.erase(key); }

 private:
  struct object final : blob {
    object(std::shared_ptr<state> of, std::unique_ptr<blob> opened)
        : counts(std::move(of)), base(std::move(opened)) {}
    std::uint64_t size() const noexcept override { return base->size(); }
    int descriptor() const noexcept override { return base->descriptor(); }
    std::string name() const override { return base->name(); }
    std::optional<blob_version> version() const noexcept override {
      return counts->always ? counts->always : base->version();
    }
    using blob::read;
    result<void> read(std::uint64_t offset, mutable_bytes into) const override {
      if (into.size() == counts->index_size) ++counts->indexes;
      if (into.size() == 4) ++counts->small;
      return base->read(offset, into);
    }
    std::shared_ptr<state> counts;
    std::unique_ptr<blob> base;
  };

  any_store base_;
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

using bytes = std::vector<std::byte>;

constexpr index_t rows = 64;
const dims shape{rows, 8};

/// Two shards of eight inner chunks of [4, 8], each of 128 bytes.
array_metadata metadata_of(bool index_crc = true, index_location at = index_location::end) {
  array_metadata out = raw_metadata(dtype_kind::int32, shape, {32, 8});
  sharding_config config;
  config.chunk_shape = {4, 8};
  config.codecs = std::move(out.codecs);
  config.location = at;
  if (!index_crc) config.index_codecs.pop_back();
  out.codecs = {config.to_spec().value()};
  return out;
}

/// All elements are `value`, but each row's first is its number.
std::vector<std::int32_t> filled(std::int32_t value) {
  std::vector<std::int32_t> out(rows * 8, value);
  for (index_t row = 0; row < rows; ++row) out[std::size_t(row) * 8] = std::int32_t(row);
  return out;
}

/// Whether inner chunk `i` is what `filled(value)` has there.
bool has(const array& a, index_t i, std::int32_t value, const read_options& options = {}) {
  std::vector<std::int32_t> got(32);
  a.read(box{{i * 4, 0}, {4, 8}}, view_of(got, {4, 8}), options).value();
  const auto wanted = filled(value);
  return std::equal(got.begin(), got.end(), wanted.begin() + i * 32);
}

/// The first shard of `filled(value)`, its index at the end, its inner chunks in the order in which
/// they are turned by `turn`.
bytes shard_of(std::int32_t value, std::size_t turn) {
  const auto values = filled(value);
  bytes out(8 * 128 + index_bytes);
  detail::shard_index index = detail::shard_index::make(8).value();
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t place = (i + turn) % 8 * 128;
    index.set(i, {place, 128});
    std::memcpy(out.data() + place, values.data() + i * 32, 128);
  }
  const bytes_view words = std::as_const(index).words();
  std::copy(words.begin(), words.end(), out.begin() + 8 * 128);
  const std::uint32_t sum = crc32c(words);
  for (std::size_t i = 0; i < 4; ++i)
    out[8 * 128 + 128 + i] = static_cast<std::byte>(sum >> (8 * i) & 0xff);
  return out;
}

struct on_disk {
  test::temp_directory dir;
  watched_store store{
      std::make_unique<const any_store>(file_store::open(dir.path().string()).value())};
  array a;

  explicit on_disk(const array_metadata& metadata = metadata_of())
      : a(array::create(store, key_of("a"), metadata).value()) {
    a.write(box::whole(shape), view_of(filled(1), shape)).value();
    wait();
  }

  std::string path() const { return dir / "a/c/0/0"; }

  bool has_version(std::string_view key) const {
    const auto object = store.open(key_of(key)).value();
    return object == nullptr || object->version();
  }
  /// Until both shards have versions.
  void wait() const {
    for (int i = 0; i < 20'000; ++i) {
      if (has_version("a/c/0/0") && has_version("a/c/1/0")) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    FAIL("the shards get no version");
  }

  /// The bytes of the file, which stays the same file.
  void rewrite(const bytes& to) const {
    std::fstream out(path(), std::ios::binary | std::ios::in | std::ios::out);
    out.write(reinterpret_cast<const char*>(to.data()), static_cast<std::streamsize>(to.size()));
    REQUIRE(out.flush());
  }

  /// How many indexes `f` reads.
  template <class F>
  int indexes_of(F&& f) const {
    const int before = store->indexes;
    f();
    return store->indexes - before;
  }
};

/// An object of the kind that `recording_store` has, with versions that the test gives.
struct in_memory {
  recording_store base;
  watched_store store{std::make_unique<const any_store>(base)};
  array a;

  explicit in_memory(const array_metadata& metadata = metadata_of(), const context& how = {})
      : a(array::create(store, key_of("a"), metadata, how).value()) {
    a.write(box::whole(metadata.shape), view_of(filled(1), metadata.shape)).value();
  }
};

}  // namespace

TEST_CASE("kept indexes: nothing is made before the first; a copy begins anew") {
  detail::shard_indexes kept;
  CHECK(kept.get() == nullptr);
  shard_index_cache& made = kept.make(SIZE_MAX);
  CHECK(kept.get() == &made);
  CHECK(&kept.make(64) == &made);
  const detail::shard_indexes copy(kept);
  CHECK(copy.get() == nullptr);
  // Threads make one.
  detail::shard_indexes shared;
  std::vector<shard_index_cache*> got(4);
  std::vector<std::thread> threads;
  for (auto& each : got) threads.emplace_back([&] { each = &shared.make(SIZE_MAX); });
  for (std::thread& one : threads) one.join();
  CHECK(std::count(got.begin(), got.end(), shared.get()) == 4);
}

TEST_CASE("the index of a file is read once by an array and its copies") {
  for (const index_location at : {index_location::end, index_location::start}) {
    const on_disk disk(metadata_of(true, at));
    CHECK(disk.indexes_of([&] { CHECK(has(disk.a, 0, 1)); }) == 1);
    CHECK(disk.indexes_of([&] {
      for (index_t i = 0; i < 8; ++i) CHECK(has(disk.a, i, 1));
      const array copy = disk.a;
      CHECK(has(copy, 3, 1));
    }) == 0);
    CHECK(disk.indexes_of([&] { CHECK(has(disk.a, 8, 1)); }) == 1);  // the other shard
    CHECK(disk.indexes_of([&] { CHECK(has(disk.a, 9, 1)); }) == 0);
    const array other = array::open(disk.store, key_of("a")).value();
    CHECK(disk.indexes_of([&] { CHECK(has(other, 1, 1)); }) == 1);
    CHECK(disk.indexes_of([&] { CHECK(has(other, 2, 1)); }) == 0);
    // What is read whole is hardly read again, so that nothing is made for it, nor asked.
    const array whole = array::open(disk.store, key_of("a")).value();
    const int small = disk.store->small;
    CHECK(disk.indexes_of([&] {
      for (int i = 0; i < 2; ++i) CHECK(whole.read(box::whole(shape)));
    }) == 4);
    CHECK(disk.store->small == small);
  }
}

TEST_CASE("the index of a file is kept for as long as the file is what it was") {
  const on_disk disk;
  const array other = array::open(disk.store, key_of("a")).value();
  const auto keep = [&](std::int32_t value) {
    disk.wait();
    for (index_t i : {0, 1, 7}) {
      CHECK(has(disk.a, i, value));
      CHECK(has(other, i, value));
    }
    CHECK(disk.indexes_of([&] { CHECK((has(disk.a, 2, value) && has(other, 2, value))); }) == 0);
  };
  const auto is_new = [&](std::int32_t value) {
    for (index_t i = 0; i < 8; ++i) CHECK((has(disk.a, i, value) && has(other, i, value)));
  };
  keep(1);
  SUBCASE("replaced by another handle, and by its own") {
    other.write(box::whole(shape), view_of(filled(2), shape)).value();
    is_new(2);
    keep(2);
    disk.a.write(box::whole(shape), view_of(filled(3), shape)).value();
    is_new(3);
    keep(3);
  }
  SUBCASE("changed in part, which the store may do by adding to the end") {
    const array direct =
        array::open(file_store::open(disk.dir.path().string()).value(), key_of("a")).value();
    const auto next = filled(8);
    for (index_t i : {2, 5}) {
      const host_view all = view_of(next, shape);
      direct.write(box{{i * 4, 0}, {4, 8}}, subview(all, box{{i * 4, 0}, {4, 8}})).value();
      for (const array& each : {disk.a, other}) {
        CHECK(has(each, i, 8));
        CHECK(has(each, 1, 1));
      }
      disk.wait();
      CHECK(has(disk.a, i, 8));
    }
  }
  SUBCASE("rewritten in place with the same size, again and again") {
    for (int i = 2; i < 6; ++i) {
      disk.rewrite(shard_of(i, static_cast<std::size_t>(i)));
      is_new(i);
      if (i % 2 == 0) keep(i);
    }
  }
  SUBCASE("replaced by rename, by one of the same size and of other times") {
    const bytes next = shard_of(4, 3);
    test::write_file(disk.path() + ".new", std::string(as_text(bytes_view(next))));
    std::filesystem::last_write_time(disk.path() + ".new",
                                     std::filesystem::last_write_time(disk.path()));
    std::filesystem::rename(disk.path() + ".new", disk.path());
    is_new(4);
    keep(4);
  }
  SUBCASE("appended to: another index at the end") {
    const bytes next = shard_of(5, 5);
    const bytes old = shard_of(1, 0);
    bytes appended = old;
    appended.insert(appended.end(), next.begin(), next.end());
    // The entries of the new index lie behind the old shard.
    detail::shard_index index = detail::shard_index::make(8).value();
    for (std::size_t i = 0; i < 8; ++i) index.set(i, {old.size() + (i + 5) % 8 * 128, 128});
    const bytes_view words = std::as_const(index).words();
    const std::size_t at = appended.size() - index_bytes;
    std::copy(words.begin(), words.end(), appended.begin() + static_cast<std::ptrdiff_t>(at));
    const std::uint32_t sum = crc32c(words);
    std::memcpy(appended.data() + at + 128, &sum, 4);
    disk.rewrite(appended);
    is_new(5);
    keep(5);
  }
  SUBCASE("erased, and made again") {
    REQUIRE(std::filesystem::remove(disk.path()));
    CHECK(disk.a.read(box{{0, 0}, {4, 8}}).value().data<std::int32_t>()[5] == 0);
    disk.a.write(box::whole(shape), view_of(filled(6), shape)).value();
    is_new(6);
    keep(6);
  }
  SUBCASE("truncated") {
    std::filesystem::resize_file(disk.path(), 100);
    CHECK(disk.a.read(box{{0, 0}, {4, 8}}).failure().code == errc::corrupt);
    disk.rewrite(shard_of(7, 2));
    is_new(7);
  }
}

TEST_CASE("a file whose time tells too little is known by the checksum of its index, too") {
  // As one is that is rewritten by a long `write`, or through a mapping.
  const on_disk disk;
  disk.store->always = blob_version{{1, 2, 3}};
  CHECK(has(disk.a, 0, 1));
  CHECK(disk.indexes_of([&] { CHECK(has(disk.a, 1, 1)); }) == 0);
  disk.rewrite(shard_of(2, 3));
  CHECK(disk.indexes_of([&] { CHECK(has(disk.a, 1, 2)); }) == 1);
  CHECK(disk.indexes_of([&] { CHECK(has(disk.a, 2, 2)); }) == 0);
  // An index without one is not kept.
  array_metadata metadata = metadata_of(false);
  const on_disk bare(metadata);
  bare.store->index_size = index_bytes - 4;
  const auto both = [&] { CHECK((has(bare.a, 0, 1) && has(bare.a, 1, 1))); };
  CHECK(bare.indexes_of(both) == 4);  // each inner chunk has as many bytes
  CHECK(bare.store->small == 0);
}

TEST_CASE("a store tells which version an object is, or nothing is kept") {
  const in_memory memory;
  const auto indexes_of = [&](std::int32_t value) {
    const int before = memory.store->indexes;
    for (index_t i = 0; i < 3; ++i) CHECK(has(memory.a, i, value));
    return memory.store->indexes - before;
  };
  CHECK(indexes_of(1) == 3);
  memory.store->always = blob_version{{7}};
  CHECK(indexes_of(1) == 1);
  CHECK(indexes_of(1) == 0);
  CHECK(memory.store->small == 0);  // a version of a store that has no files is all that is asked
  memory.base.set("a/c/0/0", shard_of(2, 1));
  memory.store->always = blob_version{{7, 1}};
  CHECK(indexes_of(2) == 1);
  memory.store->always = std::nullopt;
  memory.base.set("a/c/0/0", shard_of(3, 2));
  CHECK(indexes_of(3) == 3);
  // A cache of the caller's is used instead.
  memory.store->always = blob_version{{8}};
  shard_index_cache own;
  const int before = memory.store->indexes;
  CHECK((has(memory.a, 0, 3, {.indexes = &own}) && has(memory.a, 1, 3, {.indexes = &own})));
  CHECK(memory.store->indexes - before == 1);
  CHECK(indexes_of(3) == 1);
}

TEST_CASE("a damaged index is not kept, and what digests expect is asked each time") {
  const in_memory memory;
  memory.store->always = blob_version{{7}};
  const bytes good = memory.base.at("a/c/0/0");
  bytes bad = good;
  bad[8 * 128 + 5] ^= std::byte{1};
  memory.base.set("a/c/0/0", bad);
  for (int i = 0; i < 2; ++i)
    CHECK(memory.a.read(box{{0, 0}, {4, 8}}).failure().code == errc::corrupt);
  memory.base.set("a/c/0/0", good);
  CHECK(has(memory.a, 0, 1));
  chunk_digests digests;
  memory.a.write(box::whole(shape), view_of(filled(2), shape), {.collected = &digests}).value();
  memory.store->always = blob_version{{8}};
  const read_options strict{.expected = &digests};
  CHECK((has(memory.a, 0, 2, strict) && has(memory.a, 1, 2, strict)));
  bytes other = memory.base.at("a/c/0/0");
  other[130] ^= std::byte{1};
  memory.base.set("a/c/0/0", other);
  CHECK(has(memory.a, 0, 2, strict));
  CHECK(memory.a.read(box{{4, 0}, {4, 8}}, strict).failure().code == errc::corrupt);
  other.push_back({});
  memory.base.set("a/c/0/0", other);
  const auto refused = memory.a.read(box{{0, 0}, {4, 8}}, strict);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message.find(" that were saved") != std::string::npos);
}

TEST_CASE("an array keeps a small part of its budget; what was used last stays") {
  // Each takes 256 bytes, twice its key and the index: about 400.
  const auto indexes_of = [](std::size_t budget, const std::vector<index_t>& order) {
    context how;
    how.limit.memory = budget;
    const in_memory memory(metadata_of(), how);
    memory.store->always = blob_version{{7}};
    const int before = memory.store->indexes;
    for (const index_t i : order) CHECK(has(memory.a, i, 1));
    return memory.store->indexes - before;
  };
  CHECK(indexes_of(32 * 1000, {0, 8, 1, 9, 2, 10}) == 2);
  CHECK(indexes_of(32 * 500, {0, 8, 1, 9, 2, 10}) == 6);
  CHECK(indexes_of(32 * 500, {0, 1, 8, 9, 10, 2}) == 3);
  CHECK(indexes_of(32 * 300, {0, 1, 2}) == 3);
}

TEST_CASE("chunks of a rectilinear grid share what their array keeps") {
  array_metadata metadata = metadata_of();
  metadata.edges = {{{{32, 1}, {16, 2}}}, {{{8, 1}}}};
  const in_memory memory(metadata);
  memory.store->always = blob_version{{7}};
  const int before = memory.store->indexes;
  for (index_t i = 0; i < 8; ++i) CHECK(has(memory.a, i, 1));
  CHECK(memory.store->indexes - before == 1);
  memory.store->index_size = 4 * 16 + 4;
  for (index_t i = 8; i < 16; ++i) CHECK(has(memory.a, i, 1));
  CHECK(memory.store->indexes - before == 3);
}

TEST_CASE("of shards within shards the outer index is kept") {
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {32, 8});
  metadata = sharded_metadata(sharded_metadata(metadata, {2, 2}), {4, 8});
  const in_memory memory(metadata);
  memory.store->always = blob_version{{7}};
  const int before = memory.store->indexes;
  for (index_t i = 0; i < 8; ++i) {
    const tensor got = memory.a.read(box{{i * 4, 0}, {2, 2}}).value();
    CHECK(got.data<std::int32_t>()[2] == i * 4 + 1);
    CHECK(got.data<std::int32_t>()[3] == 1);
  }
  // The inner index has as many entries as the outer one.
  CHECK(memory.store->indexes - before == 1 + 8);
}

TEST_CASE("threads that read while the shard is replaced see one shard or another") {
  const on_disk disk;
  std::atomic<bool> done{false};
  std::atomic<int> read{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      std::vector<std::int32_t> got(32);
      for (index_t i = t; !done || read < 50; ++i) {
        const index_t at = i % 8;
        disk.a.read(box{{at * 4, 0}, {4, 8}}, view_of(got, {4, 8})).value();
        ++read;
        for (std::size_t row = 0; row < 4; ++row) {
          CHECK(got[row * 8] == std::int32_t(at * 4) + std::int32_t(row));
          CHECK(got[row * 8 + 7] == got[1]);
        }
      }
    });
  }
  for (int i = 2; i < 40; ++i) {
    const bytes next = shard_of(i, static_cast<std::size_t>(i));
    test::write_file(disk.path() + ".new", std::string(as_text(bytes_view(next))));
    std::filesystem::rename(disk.path() + ".new", disk.path());
    if (i % 10 == 0) disk.wait();
  }
  done = true;
  for (std::thread& one : readers) one.join();
  CHECK(has(disk.a, 0, 39));
}

}  // namespace shard_indexes_test
