// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/indexed_array.hpp>
#include <zarrpoint/array/sparse_read.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/fill_value.hpp>

#include "support/array_cases.hpp"
#include "support/counting_store.hpp"
#include "support/random_rounds.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sparse_read_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;
using test::temp_directory;
using test::write_file;
namespace fs = std::filesystem;

counting_store counted(bool lists = true) { return counting_store(memory_store(), lists); }

bool all_are(const tensor& of, std::int32_t value) {
  const auto data = of.data<std::int32_t>();
  return std::all_of(data.begin(), data.end(), [&](std::int32_t one) { return one == value; });
}

TEST_CASE("an array without any chunk is listed, not asked chunk by chunk") {
  auto metadata = raw_metadata(dtype_kind::int32, {60001, 10}, {2, 3});
  metadata.fill = fill_value::of(std::int32_t{-5});
  SUBCASE("regular") {}
  SUBCASE("of Zarr v2") { metadata.keys = {chunk_key_encoding::style::v2, '.'}; }
  SUBCASE("sharded") { metadata = sharded_metadata(metadata, {1, 1}); }
  SUBCASE("rectilinear") {
    metadata.edges = {axis_edges{{{2, 30001}}}, axis_edges{{{3, 1}, {1, 7}}}};
    metadata.chunk_shape = {2, 3};
  }
  const counting_store store = counted();
  const array made = array::create(store, key_of("a"), metadata).value();
  store->clear();
  const tensor read = made.read(box::whole(metadata.shape)).value();
  CHECK(all_are(read, -5));
  CHECK(store->opens <= detail::sparse_read::first_batch);
  CHECK(store->lists == 1);
}

TEST_CASE("an array whose chunks are found is never listed") {
  const counting_store store = counted();
  auto metadata = raw_metadata(dtype_kind::int32, {40, 40}, {1, 2});
  const array made = array::create(store, key_of("a"), metadata).value();
  const auto data = counting({40, 40});
  made.write(box::whole({40, 40}), view_of(data, {40, 40})).value();
  store->clear();
  const tensor read = made.read(box::whole({40, 40})).value();
  CHECK(elements_of(read.view()) == elements_of(view_of(data, {40, 40})));
  CHECK(store->lists == 0);
  CHECK(store->opens == 800);

  // Nor is one that misses a few.
  for (index_t i = 0; i < 40; i += 4)
    store.erase(key_of("a/c/" + std::to_string(i) + "/0")).value();
  store->clear();
  CHECK(made.read(box::whole({40, 40})));
  CHECK(store->lists == 0);
  CHECK(store->opens == 800);
}

TEST_CASE("few chunks, and large ones, are looked for one by one") {
  const counting_store store = counted();
  const array few =
      array::create(store, key_of("few"), raw_metadata(dtype_kind::int32, {256}, {1})).value();
  const array large =
      array::create(store, key_of("large"), raw_metadata(dtype_kind::int32, {300, 1024}, {1, 1024}))
          .value();
  store->clear();
  CHECK(all_are(few.read(box::whole({256})).value(), 0));
  CHECK(store->opens == 256);
  CHECK(all_are(large.read(box::whole({300, 1024})).value(), 0));
  CHECK(store->opens == 556);
  CHECK(store->lists == 0);
}

TEST_CASE("how many chunks a selection meets, is told by where it begins and by its steps") {
  const counting_store store = counted();
  const array line =
      array::create(store, key_of("line"), raw_metadata(dtype_kind::int32, {1200}, {2})).value();
  const array plane =
      array::create(store, key_of("plane"), raw_metadata(dtype_kind::int32, {64, 64}, {1, 2}))
          .value();
  const auto asked = [&](const array& a, const selection& part) {
    store->clear();
    CHECK(all_are(a.read(part).value(), 0));
    return std::pair<int, int>(store->opens, store->lists);
  };
  const std::pair<int, int> one_by_one(256, 0);
  CHECK(asked(line, box({0}, {512})) == one_by_one);
  CHECK(asked(line, box({1}, {511})) == one_by_one);
  CHECK(asked(line, selection({1}, {256}, {4})) == one_by_one);
  CHECK(asked(plane, box({3, 4}, {16, 32})) == one_by_one);
  CHECK(asked(plane, selection({0, 1}, {16, 16}, {4, 4})) == one_by_one);
  // One more, and all that is missing is found by a listing.
  CHECK(asked(line, box({1}, {512})).second == 1);
  CHECK(asked(line, selection({0}, {257}, {2})).second == 1);
  CHECK(asked(line, selection({1}, {257}, {4})).second == 1);
  CHECK(asked(plane, box({3, 3}, {16, 32})).second == 1);
}

TEST_CASE("a store that cannot list is asked chunk by chunk") {
  const counting_store store = counted(false);
  const array made =
      array::create(store, key_of("a"), raw_metadata(dtype_kind::int32, {1000}, {1})).value();
  store->clear();
  CHECK(all_are(made.read(box::whole({1000})).value(), 0));
  CHECK(store->opens == 1000);
}

TEST_CASE("a folder with many more chunks than a read is about is listed by the first one only") {
  const counting_store store = counted();
  auto metadata = raw_metadata(dtype_kind::int32, {1000000}, {1});
  metadata.keys.separator = '.';
  const array made = array::create(store, key_of("a"), metadata).value();
  const std::vector<std::byte> one(4);
  for (index_t i = 0; i < 4000; ++i) store.put(key_of("a/c." + std::to_string(i)), one).value();
  store->clear();
  const box part{{500000}, {600}};
  CHECK(made.read(part));
  CHECK(store->lists == 1);
  CHECK(store->opens < 600);
  CHECK(made.read(part));
  CHECK(store->lists == 1);
}

TEST_CASE("only the folders of the chunks that are read are listed") {
  const counting_store store = counted();
  const array made =
      array::create(store, key_of("a"), raw_metadata(dtype_kind::int32, {1000, 1000}, {1, 1}))
          .value();
  const std::vector<std::byte> one(4, std::byte{1});
  for (index_t i = 0; i < 1000; ++i)
    store.put(key_of("a/c/" + std::to_string(i) + "/7"), one).value();
  store.put(key_of("a/c/12/700"), one).value();
  store.put(key_of("a/c/12/0700"), one).value();  // no key of a chunk
  store->clear();
  const tensor read = made.read(box{{10, 100}, {4, 900}}).value();
  CHECK(std::count(read.data<std::int32_t>().begin(), read.data<std::int32_t>().end(),
                   0x01010101) == 1);
  CHECK(read.data<std::int32_t>()[2 * 900 + 600] == 0x01010101);
  CHECK(store->lists == 2 + 4);
}

/// A random array of many small objects, of which some are stored, and its elements.
struct sparse_case {
  sparse_case(random_source& random, const counting_store& store) : store(store) {
    const std::size_t rank = 1 + pick(random, 3);
    const index_t extent = rank == 1 ? 6000 : rank == 2 ? 90 : 20;
    dims shape, chunk;
    for (std::size_t d = 0; d < rank; ++d) {
      shape.push_back(extent / 2 +
                      static_cast<index_t>(pick(random, static_cast<std::size_t>(extent))));
      chunk.push_back(1 + static_cast<index_t>(pick(random, 3)));
    }
    auto metadata = raw_metadata(dtype_kind::int32, shape, chunk);
    metadata.fill = fill_value::of(std::int32_t{-1});
    metadata.keys = {
        pick(random, 2) == 0 ? chunk_key_encoding::style::default_ : chunk_key_encoding::style::v2,
        pick(random, 2) == 0 ? '/' : '.'};
    if (pick(random, 3) == 0) {
      for (std::size_t d = 0; d < rank; ++d) {
        std::vector<chunk_run> runs;
        for (index_t end = 0; end < shape[d];) {
          const index_t count = 1 + static_cast<index_t>(pick(random, 40));
          const index_t one = 1 + static_cast<index_t>(pick(random, 3));
          if (!runs.empty() && runs.back().extent == one) continue;
          runs.push_back({one, count});
          end += one * count;
        }
        metadata.edges.emplace_back(std::move(runs));
        metadata.chunk_shape[d] = metadata.edges[d].largest();
      }
    } else if (pick(random, 3) == 0) {
      metadata = sharded_metadata(metadata, dims(rank, 1));
    }
    made.emplace(array::create(store, key_of("a"), metadata).value());
    data.assign(static_cast<std::size_t>(element_count(shape).value()), -1);
    // Of what was written a part of the chunks stays: a corner, and some anywhere.
    if (pick(random, 8) == 0) return;
    box corner = box::whole(shape);
    for (index_t& n : corner.shape)
      n = 1 + static_cast<index_t>(pick(random, static_cast<std::size_t>(n)));
    write(corner);
    for (std::size_t i = pick(random, 30); i-- > 0;) {
      box one{dims(rank, 0), dims(rank, 1)};
      for (std::size_t d = 0; d < rank; ++d)
        one.offset[d] = static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[d])));
      write(one);
    }
  }

  void write(const box& part) {
    const mutable_host_view all = view_of(data, made->metadata().shape);
    std::int32_t value = 1;
    for (std::int32_t& one : data) value = std::max(value, one + 1);
    std::vector<std::int32_t> some(static_cast<std::size_t>(element_count(part.shape).value()));
    for (std::int32_t& one : some) one = value++;
    copy_elements(subview(all, part), view_of(some, part.shape));
    made->write(part, view_of(some, part.shape)).value();
  }

  selection random_part(random_source& random) const {
    const dims& shape = made->metadata().shape;
    selection out = box::whole(shape);
    if (pick(random, 2) == 0) return out;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      out.step[d] = pick(random, 2) == 0 ? 1 : 1 + static_cast<index_t>(pick(random, 5));
      out.offset[d] = static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[d] / 4)));
      out.shape[d] = (shape[d] - out.offset[d] - 1) / out.step[d] + 1;
    }
    return out;
  }

  counting_store store;
  std::optional<array> made;
  std::vector<std::int32_t> data;
};

TEST_CASE("random sparse arrays are read whole, with few questions") {
  const thread_pool threads(3);
  std::size_t listings = 0;
  for (std::uint64_t seed = 0; seed < random_rounds(std::uint64_t{60}); ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    const memory_store objects;
    const sparse_case one(random, counting_store(objects, true));
    // The stored objects, found by another handle.
    std::size_t stored = 0;
    std::vector<std::string> open{"a"};
    while (!open.empty()) {
      const std::string at = open.back();
      open.pop_back();
      for (const list_entry& child : objects.list(key_of(at)).value()) {
        if (child.is_prefix) open.push_back(at + '/' + child.name);
        stored += child.is_prefix ? 0 : 1;
      }
    }
    context how;
    if (seed % 2 == 0) how.executor = threads.executor();
    std::uint64_t told = 0;
    how.progress = [&](const progress_event& event) {
      told = event.bytes_done;
      CHECK(event.bytes_done <= event.bytes_total);
    };
    for (int i = 0; i < 3; ++i) {
      const selection part = one.random_part(random);
      one.store->clear();
      const tensor read = one.made->read(part, read_options{.how = &how}).value();
      const host_view all = view_of(one.data, one.made->metadata().shape);
      CHECK(elements_of(read.view()) == elements_of(subview(all, part)));
      CHECK(told == byte_count(read.spec()).value());
      listings += one.store->lists != 0 ? 1U : 0U;
      // Twice as many objects as are there, and a batch; folders hold at least one of them. A
      // listing that would cost more than the questions is left out.
      const std::uint64_t most = 4 * stored + 2 * detail::sparse_read::few_objects;
      CHECK(one.store->opens <= most);
      CHECK(one.store->lists <= 2 + 2 * stored);
    }
  }
  CHECK(listings > random_rounds(std::size_t{40}) / 4);
}

TEST_CASE("a chunk behind a link is refused by name, not taken for missing") {
  const temp_directory dir;
  const file_store store = file_store::open(dir / "s", {.create = true}).value();
  const array made =
      array::create(store, key_of("a"), raw_metadata(dtype_kind::int32, {100, 100}, {1, 1}))
          .value();
  write_file(dir / "outside", "1234");
  fs::create_directories(dir / "s/a/c/90");
  SUBCASE("a chunk") { fs::create_symlink(dir / "outside", dir / "s/a/c/90/3"); }
  SUBCASE("a folder") { fs::create_symlink(dir / "s/a/c/90", dir / "s/a/c/91"); }
  SUBCASE("all of them") {
    fs::rename(dir / "s/a/c", dir / "s/a/d");
    fs::create_symlink("d", dir / "s/a/c");
  }
  const auto read = made.read(box::whole({100, 100}));
  REQUIRE_FALSE(read);
  CHECK(to_string(read.failure()).find("symbolic link") != std::string::npos);
}

TEST_CASE("a file in the place of a folder holds no chunks") {
  const temp_directory dir;
  const file_store store = file_store::open(dir / "s", {.create = true}).value();
  const array made =
      array::create(store, key_of("a"), raw_metadata(dtype_kind::int32, {100, 100}, {1, 1}))
          .value();
  write_file(dir / "s/a/c", "1234");
  CHECK(all_are(made.read(box::whole({100, 100})).value(), 0));
}

TEST_CASE("one call meets a limited number of chunks") {
  context how;
  how.limit.max_chunks = 1000;
  const counting_store store = counted();
  auto metadata = raw_metadata(dtype_kind::int32, {1001, 2}, {1, 2});
  const auto refused = [&](const auto& done) {
    REQUIRE_FALSE(done);
    CHECK(done.failure().code == errc::resource_limit);
    const std::string text = to_string(done.failure());
    CAPTURE(text);
    CHECK(text.find("array memory:a: ") != std::string::npos);
    CHECK(text.find("meets 1001 chunks, more than the limit of 1000") != std::string::npos);
  };
  const auto try_it = [&] {
    const array made = array::create(store, key_of("a"), metadata, how).value();
    store->clear();
    refused(made.read(box::whole({1001, 2})));
    refused(made.read(box::whole({1001, 2}), read_options{.missing = missing_chunks::error}));
    CHECK(store->calls() == 0);
    const std::vector<std::int32_t> data(2002);
    refused(made.write(box::whole({1001, 2}), view_of(data, {1001, 2})));
    CHECK(made.read(box{{1, 0}, {1000, 2}}));
    CHECK(made.write(box{{0, 0}, {1000, 2}}, view_of(data, {1000, 2})));
    return made;
  };
  SUBCASE("regular") {
    const array made = try_it();
    std::vector<index_t> every(1001);
    for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<index_t>(1000 - i);
    refused(indexed_array(made).taken(0, every).value().read());
  }
  SUBCASE("sharded") {
    metadata.chunk_shape = {1001, 2};
    metadata = sharded_metadata(metadata, {1, 2});
    const array made = array::create(store, key_of("a"), metadata, how).value();
    refused(made.read(box::whole({1001, 2})));
    CHECK(made.read(box{{0, 0}, {1000, 2}}));
    // All of a shard is written, whatever part of it is given.
    const std::vector<std::int32_t> data(2);
    refused(made.write(box{{0, 0}, {1, 2}}, view_of(data, {1, 2})));
  }
  SUBCASE("rectilinear") {
    metadata.edges = {axis_edges{{{1, 1001}}}, axis_edges{{{2, 1}}}};
    try_it();
  }
}

TEST_CASE("the text of missing strings counts, in however many runs they are filled") {
  const memory_store store;
  auto metadata = raw_metadata(dtype_kind::string, {100, 100}, {1, 1});
  metadata.fill = fill_value::of_text(std::string(1000, 'x'));
  context how;
  how.limit.memory = 5'000'000;
  const array made = array::create(store, key_of("a"), metadata, how).value();
  const std::vector<std::string> one(1, "y");
  const host_view from =
      dense_view(reinterpret_cast<const std::byte*>(one.data()), {dtype_kind::string, dims{1, 1}});
  for (index_t i = 5; i < 100; i += 5) made.write(box{{i, 50}, {1, 1}}, from).value();
  const auto read = made.read(box::whole({100, 100}));
  REQUIRE_FALSE(read);
  CHECK(read.failure().code == errc::resource_limit);
  CHECK(made.read(box{{0, 0}, {40, 100}}));
}

}}  // namespace sparse_read_test
