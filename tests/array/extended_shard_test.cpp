// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Writes of a part of a shard where files grow in one step.

#include <zarrpoint/array.hpp>
#include <zarrpoint/codecs.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/memory/device/device_source.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/stores.hpp>

#include "support/growing_files.hpp"
#include "support/random_rounds.hpp"
#include "support/strided_device.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace extended_shard_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using zarrpoint_test::dense_bytes_of;
using zarrpoint_test::dense_layout;
using zarrpoint_test::fake_device;
using zarrpoint_test::fake_space;
using zarrpoint_test::growing_files;
using zarrpoint_test::random_source;
using zarrpoint_test::strided_device;

std::vector<codec_spec> raw_codecs() { return {{"bytes", json::object{{"endian", "little"}}}}; }

std::vector<codec_spec> zstd_codecs() {
  std::vector<codec_spec> out = raw_codecs();
  out.push_back({"zstd", json::object{{"level", 1}, {"checksum", false}}});
  out.push_back({"crc32c"});
  return out;
}

/// [64, 32] of int32 in shards of 32 rows, inner chunks of 4 x 8: 128 bytes, 32 in a shard.
array_metadata small(std::vector<codec_spec> inner_codecs, bool index_first = false) {
  sharding_config inner;
  inner.chunk_shape = {4, 8};
  inner.codecs = std::move(inner_codecs);
  if (index_first) inner.location = index_location::start;
  array_metadata out;
  out.type = dtype_kind::int32;
  out.shape = {64, 32};
  out.chunk_shape = {32, 32};
  out.fill = fill_value::zero(out.type);
  out.codecs = {inner.to_spec().value()};
  return out;
}

/// An array, and what it must hold.
class model {
 public:
  model(const growing_files& folder, array_metadata metadata, bool sync = false)
      : store_(file_store::open(folder.path().string(), {.sync = sync}).value()),
        array_(array::create(store_, store_key::parse("a").value(), metadata, context{}).value()),
        shape_(metadata.shape),
        values_(static_cast<std::size_t>(shape_[0] * shape_[1])) {
    std::iota(values_.begin(), values_.end(), 1);
    array_.write(box::whole(shape_), std::span(values_)).value();
  }

  result<void> write(const selection& part, std::int32_t first, const write_options& how = {}) {
    std::vector<std::int32_t> written(static_cast<std::size_t>(part.shape[0] * part.shape[1]));
    std::iota(written.begin(), written.end(), first);
    auto done = array_.write(part, std::span(written), how);
    if (!done) return done;
    for (index_t row = 0; row < part.shape[0]; ++row) {
      for (index_t column = 0; column < part.shape[1]; ++column) {
        const index_t at = (part.offset[0] + row * part.step[0]) * shape_[1] + part.offset[1] +
                           column * part.step[1];
        values_[static_cast<std::size_t>(at)] =
            written[static_cast<std::size_t>(row * part.shape[1] + column)];
      }
    }
    return done;
  }

  /// By the handle that wrote it, and by another.
  void check() const {
    const auto other = array::open(store_, store_key::parse("a").value(), context{}).value();
    for (const array& one : {array_, other}) {
      std::vector<std::int32_t> got(values_.size());
      REQUIRE(one.read(box::whole(shape_), got));
      CHECK(got == values_);
    }
  }

  const array& handle() const { return array_; }

 private:
  file_store store_;
  array array_;
  dims shape_;
  std::vector<std::int32_t> values_;
};

ino_t inode_of(const std::string& path) {
  struct ::stat info {};
  CHECK(::stat(path.c_str(), &info) == 0);
  return info.st_ino;
}

TEST_CASE("extended shard: one inner chunk costs itself and the index, by whole blocks") {
  const growing_files folder;
  if (!folder.are_there()) return;
  for (const bool sync : {false, true}) {
    if (!folder.are_there(sync)) continue;
    model of(folder, small(raw_codecs()), sync);
    const std::string file = folder / "a/c/0/0";
    const ino_t before = inode_of(file);
    const auto size = fs::file_size(file);
    REQUIRE(of.write(box({4, 8}, {4, 8}), 7000));
    of.check();
    CHECK(inode_of(file) == before);
    CHECK(fs::file_size(file) == (size + 4095) / 4096 * 4096 + 4096);
    CHECK(inode_of(folder / "a/c/1/0") != before);
    fs::remove_all(folder / "a");
  }
}

TEST_CASE("extended shard: any parts in any order, raw and compressed") {
  const growing_files folder;
  if (!folder.are_there()) return;
  unsigned grown = 0;
  for (const auto& codecs : {raw_codecs(), zstd_codecs()}) {
    model of(folder, small(codecs));
    std::mt19937 random(5);
    const auto below = [&](index_t end) { return static_cast<index_t>(random()) % end; };
    for (int i = 0; i < 120; ++i) {
      const ino_t before = inode_of(folder / "a/c/0/0");
      const index_t rows = 1 + below(9);
      const index_t columns = 1 + below(9);
      const index_t step = 1 + below(2);
      const dims offset{below(64 - step * rows), below(32 - step * columns)};
      REQUIRE(of.write(selection(offset, {rows, columns}, {step, step}), 1000 * i));
      of.check();
      grown += inode_of(folder / "a/c/0/0") == before ? 1U : 0U;
      // What is old is never more than what is kept, a block and an index aside.
      CHECK(fs::file_size(folder / "a/c/0/0") <= 3 * (32 * (128 + 64) + 516) + 8192);
    }
    const compaction done = compact(of.handle()).value();
    CHECK(done.bytes_freed > 0);
    of.check();
    fs::remove_all(folder / "a");
  }
  CHECK(grown > 60);
}

TEST_CASE("extended shard: of several shards each grows by what changes in it") {
  const growing_files folder;
  if (!folder.are_there()) return;
  const thread_pool pool(4);
  context threads;
  threads.executor = pool.executor();
  // Two inner chunks of each, and one of each.
  const selection parts[] = {box({30, 3}, {5, 7}), selection({0, 9}, {2, 1}, {60, 1})};
  for (const context* const how : {static_cast<const context*>(nullptr), &std::as_const(threads)}) {
    for (const selection& part : parts) {
      model of(folder, small(raw_codecs()));
      const std::array<std::string, 2> files{folder / "a/c/0/0", folder / "a/c/1/0"};
      const std::array<ino_t, 2> before{inode_of(files[0]), inode_of(files[1])};
      const auto grown = (fs::file_size(files[0]) + 4095) / 4096 * 4096 + 4096;
      REQUIRE(of.write(part, 9000, {.how = how}));
      of.check();
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(inode_of(files[i]) == before[i]);
        CHECK(fs::file_size(files[i]) == grown);
      }
      // All of one and a little of the other.
      REQUIRE(of.write(box({0, 0}, {33, 32}), 11000, {.how = how}));
      of.check();
      CHECK(inode_of(files[0]) != before[0]);
      fs::remove_all(folder / "a");
    }
  }
}

TEST_CASE("extended shard: by elements that come from a device") {
  const growing_files folder;
  if (!folder.are_there()) return;
  fake_device device(1);
  random_source random(1);
  for (const auto& codecs : {raw_codecs(), zstd_codecs()}) {
    model of(folder, small(codecs));
    unsigned grown = 0;
    const auto bytes = [&] {
      return dense_bytes_of(of.handle().read(box::whole({64, 32}))->view());
    };
    const box parts[] = {{{40, 5}, {3, 20}}, {{36, 0}, {4, 8}}, {{28, 17}, {9, 6}}};
    for (const box& part : parts) {
      const strided_device tensor({&device}, dtype_kind::int32, part.shape,
                                  dense_layout(part.shape, 4), random);
      tensor.wait();
      const ino_t before = inode_of(folder / "a/c/1/0");
      auto expected = of.handle().read(box::whole({64, 32})).value();
      copy_elements(subview(expected.mutable_view(), part), tensor.on_host());
      const auto source =
          detail::device_source<fake_space>::make(
              tensor.view(),
              std::make_shared<detail::staging_ring<fake_space>>(
                  tensor.view().space, detail::ring_options{.slots = 1, .slot_bytes = 200}))
              .value();
      REQUIRE(of.handle().write(part, *source));
      CHECK(bytes() == dense_bytes_of(expected.view()));
      grown += inode_of(folder / "a/c/1/0") == before ? 1U : 0U;
      CHECK(compact(of.handle()));
    }
    CHECK(grown == 3);
    fs::remove_all(folder / "a");
  }
}

TEST_CASE("extended shard: fill values and inner chunks that were not there") {
  const growing_files folder;
  if (!folder.are_there()) return;
  model of(folder, small(zstd_codecs()));
  const std::vector<std::int32_t> zeros(32, 0);
  const ino_t before = inode_of(folder / "a/c/0/0");
  CHECK(of.handle().write(box({0, 0}, {4, 8}), std::span(zeros)));
  std::vector<std::int32_t> got(32, 1);
  CHECK(of.handle().read(box({0, 0}, {4, 8}), got));
  CHECK(got == zeros);
  CHECK(inode_of(folder / "a/c/0/0") == before);
  CHECK(of.write(box({0, 0}, {4, 8}), 50));
  of.check();
}

TEST_CASE("extended shard: what must not grow is replaced") {
  const growing_files folder;
  if (!folder.are_there()) return;
  const std::string file = folder / "a/c/0/0";
  const box part({4, 8}, {4, 8});
  const auto replaced = [&](array_metadata metadata, const write_options& how) {
    model of(folder, std::move(metadata));
    const ino_t before = inode_of(file);
    const auto size = fs::file_size(file);
    CHECK(of.write(part, 7000, how));
    of.check();
    const bool out = inode_of(file) != before && fs::file_size(file) <= size;
    fs::remove_all(folder / "a");
    return out;
  };
  CHECK_FALSE(replaced(small(raw_codecs()), {}));
  CHECK(replaced(small(raw_codecs()), {.extend = false}));
  CHECK(replaced(small(raw_codecs(), true), {}));  // its index would be changed where it is
  chunk_digests digests;
  CHECK(replaced(small(raw_codecs()), {.collected = &digests}));

  // Of a copy by hard links nothing changes.
  model of(folder, small(raw_codecs()));
  fs::create_hard_link(file, folder / "copy");
  const std::string copied = test::read_file(folder / "copy");
  CHECK(of.write(part, 7000));
  of.check();
  CHECK(test::read_file(folder / "copy") == copied);
}

TEST_CASE("extended shard: most of a shard is written anew, and so is one that is mostly old") {
  const growing_files folder;
  if (!folder.are_there()) return;
  const std::string file = folder / "a/c/0/0";
  model of(folder, small(raw_codecs()));
  ino_t before = inode_of(file);
  const auto size = fs::file_size(file);
  CHECK(of.write(box({0, 0}, {28, 32}), 0));
  of.check();
  CHECK(inode_of(file) != before);
  CHECK(fs::file_size(file) == size);
  before = inode_of(file);
  unsigned steps = 0;
  for (; inode_of(file) == before && steps < 100; ++steps)
    REQUIRE(of.write(box({4, 8}, {4, 8}), static_cast<std::int32_t>(steps)));
  of.check();
  CHECK(steps > 0);
  CHECK(steps < 100);
  CHECK(fs::file_size(file) == size);
}

TEST_CASE("extended shard: what memory is enough to replace a shard is enough to extend it") {
  const growing_files folder;
  if (!folder.are_there()) return;
  const std::string file = folder / "a/c/0/0";
  model of(folder, small(zstd_codecs()));
  bool grew = false;
  bool failed = false;
  for (std::size_t memory = 1000; memory < 40'000'000; memory = memory * 9 / 8) {
    CAPTURE(memory);
    const ino_t before = inode_of(file);
    context how;
    how.limit.memory = memory;
    const auto done = of.write(box({4, 8}, {12, 8}), 11, {.how = &how});
    of.check();
    if (done) {
      grew = grew || inode_of(file) == before;
    } else {
      failed = true;
      CHECK(done.failure().code == errc::resource_limit);
      CHECK_FALSE(of.write(box({4, 8}, {12, 8}), 11, {.how = &how, .extend = false}));
    }
  }
  CHECK(grew);
  CHECK(failed);
}

TEST_CASE("extended shard: frames that are appended one by one are written once") {
  const growing_files folder;
  if (!folder.are_there()) return;
  sharding_config inner;
  inner.chunk_shape = {1, 16384};  // 64 KiB
  inner.codecs = raw_codecs();
  array_metadata metadata;
  metadata.type = dtype_kind::int32;
  metadata.shape = {0, 16384};
  metadata.chunk_shape = {16, 16384};
  metadata.fill = fill_value::zero(metadata.type);
  metadata.codecs = {inner.to_spec().value()};
  const auto store = file_store::open(folder.path().string()).value();
  auto frames = array::create(store, store_key::parse("f").value(), metadata, context{}).value();
  std::vector<std::int32_t> frame(16384);
  for (std::int32_t i = 0; i < 40; ++i) {
    std::iota(frame.begin(), frame.end(), 100 * i);
    frames = append(frames, 0, frame).value();
  }
  CHECK(frames.metadata().shape == dims{40, 16384});
  for (std::int32_t i = 0; i < 40; ++i) {
    std::vector<std::int32_t> got(16384);
    REQUIRE(frames.read(box({i, 0}, {1, 16384}), got));
    std::iota(frame.begin(), frame.end(), 100 * i);
    CHECK(got == frame);
  }
  // All 16 in the order in which they came, each behind an index of its own that is old but the
  // last.
  const auto full = fs::file_size(folder / "f/c/0/0");
  CHECK(full > 16 * 65536 + 15 * 260);
  CHECK(full <= 16 * (65536 + 4096) + 4096);
  CHECK(compact(frames).value().shards == 3);
  CHECK(fs::file_size(folder / "f/c/0/0") == 16 * 65536 + 260);
}

TEST_CASE("extended shard: a process that is killed leaves each inner chunk old or new") {
  const growing_files folder;
  if (!folder.are_there()) return;
  const std::string file = folder / "a/c/0/0";
  model of(folder, small(raw_codecs()));
  bool changed = false;
  for (int round = 0; round < 25; ++round) {
    const ino_t inode = inode_of(file);
    const auto size = fs::file_size(file);
    const pid_t id = ::fork();
    if (id == 0) {
      for (std::int32_t i = 0;; ++i) {
        // One number in an inner chunk.
        const std::vector<std::int32_t> chunk(32, round * 1'000'000 + i);
        const index_t at = i % 32;
        const box part({at / 4 * 4, at % 4 * 8}, {4, 8});
        if (!of.handle().write(part, std::span(chunk))) ::_exit(1);
      }
    }
    int status = 0;
    pid_t ended = 0;
    while (inode_of(file) == inode && fs::file_size(file) == size && ended == 0)
      ended = ::waitpid(id, &status, WNOHANG);
    ::usleep(static_cast<useconds_t>(150 * round));
    ::kill(id, SIGKILL);
    if (ended == 0) ::waitpid(id, &status, 0);
    CHECK(WIFSIGNALED(status));
    const auto opened = array::open(of.handle().store(), of.handle().key(), context{}).value();
    for (index_t at = 0; at < 32; ++at) {
      std::array<std::int32_t, 32> chunk{};
      const box part({at / 4 * 4, at % 4 * 8}, {4, 8});
      REQUIRE(opened.read(part, std::span(chunk)));
      const bool is_first = chunk[1] == chunk[0] + 1;  // as `model` made it
      changed = changed || !is_first;
      CHECK((is_first || std::all_of(chunk.begin(), chunk.end(),
                                     [&](std::int32_t each) { return each == chunk[0]; })));
    }
  }
  CHECK(changed);
}

}  // namespace extended_shard_test
