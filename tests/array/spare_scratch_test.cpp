// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/memory/resource.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace spare_scratch_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

/// What the codec below makes for each worker, as zstd makes contexts.
class counted_state {
 public:
  explicit counted_state(memory_resource& from) : memory_(buffer::allocate(bytes, from).value()) {
    ++made;
    ++alive;
  }
  counted_state(const counted_state&) = delete;
  counted_state& operator=(const counted_state&) = delete;
  ~counted_state() { --alive; }

  static inline std::size_t bytes = 1000;
  static inline std::atomic<int> made{0}, alive{0};

 private:
  buffer memory_;
};

struct counted_codec {
  static constexpr std::string_view name = "test.counted";
  static constexpr bool fixed_size = true;
  static result<counted_codec> from_configuration(const json&) { return counted_codec{}; }
  json configuration() const { return json::object{}; }
  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }
  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace&) const {
    std::copy(from.begin(), from.end(), to.begin());
    return from.size();
  }
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    scratch.state<counted_state>();
    return encode(from, to, scratch);
  }
};

/// Resets the counts, and how much each state takes.
struct counts {
  explicit counts(std::size_t bytes = 1000) {
    counted_state::bytes = bytes;
    counted_state::made = 0;
    REQUIRE(counted_state::alive == 0);
  }
  int made() const { return counted_state::made; }
  int alive() const { return counted_state::alive; }
};

constexpr index_t rows = 64;
const dims shape{rows, 256};
const box row_3({3, 0}, {1, 256});

context with_counted() {
  context how;
  how.codecs = default_codecs::with<counted_codec>::table();
  return how;
}

/// Chunks of a row, of which each element tells its place.
array filled(const context& how = with_counted()) {
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {1, 256});
  metadata.codecs.push_back({"test.counted"});
  array out = array::create(recording_store(), key_of("a"), metadata, how).value();
  std::vector<std::int32_t> values(static_cast<std::size_t>(rows) * 256);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  out.write(box::whole(shape), view_of(values, shape)).value();
  return out;
}

bool reads_row(const array& a, index_t row, const read_options& options = {}) {
  std::vector<std::int32_t> got(256);
  if (!a.read(box({row, 0}, {1, 256}), view_of(got, {1, 256}), options)) return false;
  for (std::size_t i = 0; i < 256; ++i)
    if (got[i] != static_cast<std::int32_t>(row * 256) + static_cast<std::int32_t>(i)) return false;
  return true;
}

std::shared_ptr<scratch_pool> pool_of(std::size_t memory = SIZE_MAX) {
  limits limit;
  limit.memory = memory;
  return std::make_shared<scratch_pool>(limit);
}

}  // namespace

TEST_CASE("kept scratch: what was left is taken by one, and the last that was left stays") {
  detail::spare_scratch kept;
  CHECK(kept.take() == nullptr);
  const auto first = pool_of();
  const auto second = pool_of();
  kept.leave(first);
  CHECK(kept.take() == first);
  CHECK(kept.take() == nullptr);
  kept.leave(first);
  kept.leave(second);
  CHECK(first.use_count() == 1);
  const detail::spare_scratch copy(kept);  // NOLINT(performance-unnecessary-copy-initialization)
  CHECK(second.use_count() == 2);
  CHECK(kept.take() == second);
}

TEST_CASE("kept scratch: no more than a small part of the budget is left") {
  detail::spare_scratch kept;
  const auto use = [](scratch_pool& pool, std::size_t each, int times) {
    std::vector<scratch_pool::lease> lent;
    for (int i = 0; i < times; ++i) {
      lent.push_back(pool.borrow());
      REQUIRE(lent.back()->scratch(0, each));
    }
  };
  const auto small = pool_of();
  use(*small, 300'000, 2);
  kept.leave(small);
  CHECK(small->budget().in_use() == 600'000);
  use(*small, 300'000, 5);
  CHECK(small->budget().in_use() == 1'500'000);
  kept.leave(small);
  CHECK(small->budget().in_use() == 900'000);  // three of five
  CHECK(kept.take() == small);
  use(*small, 300'000, 4);  // what was dropped is made again
  CHECK(small->budget().in_use() == 1'200'000);

  const auto large = pool_of();
  use(*large, detail::spare_scratch::most + 1, 1);
  kept.leave(large);
  CHECK(large->budget().in_use() == 0);

  const auto tight = pool_of(32'000'000);
  use(*tight, 999'000, 1);
  kept.leave(tight);
  CHECK(tight->budget().in_use() == 999'000);
  use(*tight, 1'001'000, 1);
  kept.leave(tight);
  CHECK(tight->budget().in_use() == 0);

  // What somebody else has in use stays out.
  static_cast<void>(kept.take());
  const auto used = pool_of();
  const scratch_pool::lease held = used->borrow();
  REQUIRE(held->scratch(0, detail::spare_scratch::most + 1));
  kept.leave(used);
  CHECK(kept.take() == nullptr);
}

TEST_CASE("reads of parts by one handle share a codec's state, and the last handle drops it") {
  const counts count;
  {
    const array a = filled();
    const array copy = a;
    for (index_t row = 0; row < rows; ++row) CHECK(reads_row(row % 2 == 0 ? a : copy, row));
    CHECK(a.read(row_3).value().shape() == dims{1, 256});
    CHECK(count.made() == 1);
    // What is read whole takes it, too.
    std::vector<std::int32_t> all(static_cast<std::size_t>(rows) * 256);
    CHECK(a.read(box::whole(shape), view_of(all, shape)));
    CHECK(all[1000] == 1000);
    CHECK(count.made() == 1);
    CHECK(count.alive() == 1);
  }
  CHECK(count.alive() == 0);
}

TEST_CASE("nothing is kept of what is read whole, or by a context that is not the array's") {
  const counts count;
  const array a = filled();
  std::vector<std::int32_t> all(static_cast<std::size_t>(rows) * 256);
  CHECK(a.read(box::whole(shape), view_of(all, shape)));
  CHECK(a.read(box::whole(shape)));
  CHECK(count.made() == 2);
  CHECK(count.alive() == 0);

  const context other = with_counted();
  CHECK(reads_row(a, 5, {.how = &other}));
  CHECK(a.read(row_3, {.how = &other}));
  CHECK(count.made() == 4);
  CHECK(count.alive() == 0);

  // Scratch memory that was asked for is the context's own.
  {
    const context shared = with_scratch(with_counted());
    const array b = filled(shared);
    CHECK(reads_row(b, 6));
    CHECK(reads_row(a, 6, {.how = &shared}));
    CHECK(count.made() == 5);
    CHECK(shared.scratch.use_count() == 2);  // and the array's context
  }
  CHECK(count.alive() == 0);

  // A resource may end before the array does.
  limited_resource resource(1 << 20);
  context how = with_counted();
  how.resource = &resource;
  const array c = filled(how);
  CHECK(reads_row(c, 7));
  CHECK(resource.in_use() == 0);
  CHECK(count.alive() == 0);
}

TEST_CASE("states that take more than may be kept are made each time") {
  const counts count(detail::spare_scratch::most + 1);
  const array a = filled();
  for (index_t row = 0; row < 4; ++row) CHECK(reads_row(a, row));
  CHECK(count.made() == 4);
  CHECK(count.alive() == 0);
}

TEST_CASE("what is kept takes nothing from the budget of the next read") {
  const counts count;
  context how = with_counted();
  how.limit.memory = 99'000;  // of which a 32nd may be kept: a state and two rows
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {1, 256});
  metadata.shape[0] = 2 * rows;
  metadata.codecs.push_back({"test.counted"});
  const array a = array::create(recording_store(), key_of("a"), metadata, how).value();
  const std::vector<std::int32_t> row(256, 3);
  a.write(row_3, view_of(row, {1, 256})).value();
  std::vector<std::int32_t> got(256);
  CHECK(a.read(row_3, view_of(got, {1, 256})));
  CHECK(got == row);
  CHECK(count.alive() == 1);
  // 98,304 bytes that are not stored: more than is left beside it.
  CHECK(a.read(box({4, 0}, {96, 256})).value().size() == 96 * 256);
  CHECK(count.alive() == 0);
  CHECK(a.read(row_3, view_of(got, {1, 256})));
  CHECK(got == row);
  CHECK(count.made() == 2);
}

TEST_CASE("reads that fail leave the scratch memory for the next one") {
  const counts count;
  const recording_store store;
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {1, 256});
  metadata.codecs.push_back({"test.counted"});
  metadata.codecs.push_back(crc32c_spec());
  const array a = array::create(store, key_of("a"), metadata, with_counted()).value();
  const std::vector<std::int32_t> values(static_cast<std::size_t>(rows) * 256, 9);
  a.write(box::whole(shape), view_of(values, shape)).value();
  auto damaged = store.at("a/c/3/0");
  damaged[5] ^= std::byte{1};
  any_store(store).put(key_of("a/c/3/0"), damaged).value();
  std::vector<std::int32_t> got(256);
  CHECK(a.read(box({2, 0}, {1, 256}), view_of(got, {1, 256})));
  CHECK(got == std::vector<std::int32_t>(256, 9));
  for (int i = 0; i < 3; ++i) {
    const auto failed = a.read(row_3, view_of(got, {1, 256}));
    REQUIRE_FALSE(failed);
    CHECK(failed.failure().code == errc::corrupt);
  }
  CHECK(a.read(box({4, 0}, {1, 256}), view_of(got, {1, 256})));
  CHECK(got == std::vector<std::int32_t>(256, 9));
  CHECK(count.made() == 1);
  CHECK(count.alive() == 1);
}

TEST_CASE("threads that read by one handle each have scratch memory of their own") {
  const counts count;
  constexpr int threads = 6;
  constexpr int reads = 300;
  const array a = filled();
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i < reads; ++i)
        if (!reads_row(a, (7 * i + t) % rows)) ++wrong;
    });
  }
  for (std::thread& one : all) one.join();
  CHECK(wrong == 0);
  CHECK(count.alive() <= 1);
  CHECK(count.made() <= threads * reads);
  const int made = count.made();
  CHECK(reads_row(a, 1));
  CHECK(reads_row(a, 2));
  CHECK(count.made() <= made + 1);
}

TEST_CASE("a process that is forked in the midst of a read goes on by the same handle") {
  bool armed = false;
  pid_t child = -1;
  context how = with_counted();
  how.progress = [&](const progress_event&) {
    if (std::exchange(armed, false)) child = ::fork();
  };
  const array a = filled(how);
  CHECK(reads_row(a, 0));
  for (const bool within : {false, true}) {
    CAPTURE(within);
    // While a read has the scratch memory, or while it lies there for the next one.
    armed = within;
    if (!within) child = ::fork();
    const bool right = reads_row(a, 1);
    if (child == 0) {
      ::alarm(60);
      bool all = right;
      for (index_t row = 0; row < rows; ++row) all = all && reads_row(a, row);
      ::_exit(all ? 0 : 1);
    }
    CHECK(right);
    for (index_t row = 0; row < rows; ++row) CHECK(reads_row(a, row));
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

}  // namespace spare_scratch_test
