// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The conformance kit of stores: what every store must do, ours or a user's. Call
// `test::store_conformance([] { return my_store(...); })` in a test case; each call of the factory
// gives an empty store.

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace test {

inline zarrpoint::store_key key(std::string_view text) {
  return zarrpoint::store_key::parse(text).value();
}

inline std::vector<std::byte> random_bytes(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(size);
  for (std::byte& one : out) one = static_cast<std::byte>(random());
  return out;
}

inline std::vector<std::byte> read_object(const zarrpoint::any_store& store,
                                          std::string_view name) {
  const auto bytes = zarrpoint::get(store, key(name), 1 << 30);
  REQUIRE(bytes);
  REQUIRE(bytes->has_value());
  return **bytes;
}

inline bool has_object(const zarrpoint::any_store& store, std::string_view name) {
  return store.open(key(name)).value() != nullptr;
}

/// Gives an empty store at each call. The kit works through `any_store`, so that it is compiled
/// once.
using store_factory = std::function<zarrpoint::any_store()>;

/// Reading, whole and in ranges.
inline void store_reads(const store_factory& make) {
  const auto store = make();
  const auto data = random_bytes(100'000);
  store.put(key("a/b/c"), data).value();
  store.put(key("empty"), {}).value();

  CHECK(store.open(key("missing")).value() == nullptr);
  CHECK(store.open(key("a/missing")).value() == nullptr);
  CHECK(store.open(key("a/b/c/d")).value() == nullptr);
  // A prefix of other keys is not an object.
  CHECK(store.open(key("a/b")).value() == nullptr);
  CHECK(store.open(zarrpoint::store_key::root()).value() == nullptr);

  CHECK(read_object(store, "a/b/c") == data);
  CHECK(read_object(store, "empty").empty());
  const auto small = zarrpoint::get(store, key("a/b/c"), 99'999);
  REQUIRE_FALSE(small);
  CHECK(small.failure().code == zarrpoint::errc::resource_limit);

  const auto object = store.open(key("a/b/c")).value();
  CHECK(object->size() == data.size());
  CHECK(object->name().find("a/b/c") != std::string::npos);
  CHECK(store.describe(key("a/b/c")).find("a/b/c") != std::string::npos);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const std::size_t offset = random() % (data.size() + 1);
    std::vector<std::byte> part(random() % (data.size() - offset + 1));
    object->read(offset, part).value();
    CHECK(std::equal(part.begin(), part.end(), data.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  std::vector<std::byte> two(2);
  for (const std::uint64_t offset :
       {std::uint64_t{99'999}, std::uint64_t{100'000}, std::uint64_t{1} << 40, UINT64_MAX}) {
    const auto beyond = object->read(offset, two);
    REQUIRE_FALSE(beyond);
    CHECK(beyond.failure().code == zarrpoint::errc::out_of_range);
  }

  // Neighbours, gaps, overlaps, any order, nothing.
  std::vector<std::vector<std::byte>> parts;
  std::vector<zarrpoint::read_request> requests;
  const std::vector<std::pair<std::size_t, std::size_t>> ranges{
      {0, 10}, {10, 20}, {30, 0}, {30, 5}, {50, 7}, {20, 40}, {99'990, 10}};
  for (const auto& [offset, size] : ranges) parts.emplace_back(size);
  for (std::size_t i = 0; i < ranges.size(); ++i) requests.push_back({ranges[i].first, parts[i]});
  object->read(requests).value();
  for (std::size_t i = 0; i < ranges.size(); ++i)
    CHECK(std::equal(parts[i].begin(), parts[i].end(),
                     data.begin() + static_cast<std::ptrdiff_t>(ranges[i].first)));
  requests[3].offset = 99'998;
  CHECK_FALSE(object->read(requests));
  std::vector<std::vector<std::byte>> many(300, std::vector<std::byte>(7));
  std::vector<zarrpoint::read_request> all;
  for (std::size_t i = 0; i < many.size(); ++i) all.push_back({7 * i, many[i]});
  object->read(all).value();
  for (std::size_t i = 0; i < many.size(); ++i)
    CHECK(std::equal(many[i].begin(), many[i].end(),
                     data.begin() + static_cast<std::ptrdiff_t>(7 * i)));

  if (const auto mapped = object->map()) {
    CHECK(std::equal(mapped->bytes().begin(), mapped->bytes().end(), data.begin(), data.end()));
    CHECK(store.open(key("empty")).value()->map().value().bytes().empty());
  } else {
    CHECK(mapped.failure().code == zarrpoint::errc::unsupported);
  }
}

/// Writing, at once and in pieces; what is not finished leaves nothing.
inline void store_writes(const store_factory& make) {
  const auto store = make();
  const auto data = random_bytes(10'000);
  store.put(key("k"), data).value();
  store.put(key("k"), zarrpoint::bytes_view(data).first(3)).value();
  CHECK(read_object(store, "k").size() == 3);

  {
    const auto writer = store.create(key("deep/er/k")).value();
    writer->reserve(1 << 20).value();
    // Backwards, so that the object grows from its end.
    for (std::size_t at = 10'000; at > 0; at -= 1000)
      writer->write(at - 1000, zarrpoint::bytes_view(data).subspan(at - 1000, 1000)).value();
    CHECK_FALSE(has_object(store, "deep/er/k"));
    std::vector<std::byte> back(100);
    if (const auto read = writer->read(500, back)) {
      CHECK(std::equal(back.begin(), back.end(), data.begin() + 500));
      CHECK_FALSE(writer->read(9'950, back));
    } else {
      CHECK(read.failure().code == zarrpoint::errc::unsupported);
    }
    writer->finish().value();
  }
  CHECK(read_object(store, "deep/er/k") == data);
  {
    const auto writer = store.create(key("hole")).value();
    writer->write(5, zarrpoint::bytes_view(data).first(1)).value();
    writer->finish().value();
    const auto hole = read_object(store, "hole");
    REQUIRE(hole.size() == 6);
    CHECK(std::count(hole.begin(), hole.begin() + 5, std::byte{0}) == 5);
  }
  {
    const auto writer = store.create(key("nothing")).value();
    writer->write(1000, {}).value();  // ends nowhere
    writer->finish().value();
    CHECK(read_object(store, "nothing").empty());
  }
  store.put(key("kept"), data).value();
  {
    const auto writer = store.create(key("kept")).value();
    writer->write(0, zarrpoint::bytes_view(data).first(1)).value();
    const auto fresh = store.create(key("dropped/k")).value();
    fresh->write(0, data).value();
  }
  CHECK(read_object(store, "kept") == data);
  CHECK_FALSE(has_object(store, "dropped/k"));

  CHECK(store.erase(key("kept")).value());
  CHECK_FALSE(store.erase(key("kept")).value());
  CHECK_FALSE(store.erase(key("not/there")).value());
  CHECK_FALSE(has_object(store, "kept"));
  CHECK_FALSE(store.put(zarrpoint::store_key::root(), data));

  // One writer, many threads; and many threads, one key.
  {
    const auto writer = store.create(key("threads")).value();
    std::vector<std::thread> crew;
    for (std::size_t t = 0; t < 4; ++t) {
      crew.emplace_back([&, t] {
        for (std::size_t at = 1000 * t; at < data.size(); at += 4000)
          static_cast<void>(writer->write(at, zarrpoint::bytes_view(data).subspan(at, 1000)));
      });
    }
    for (std::thread& one : crew) one.join();
    writer->finish().value();
    CHECK(read_object(store, "threads") == data);
  }
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < 4; ++t) {
    crew.emplace_back([&store, t] {
      const std::vector<std::byte> mine(5000 + t, static_cast<std::byte>(t));
      for (int round = 0; round < 20; ++round) static_cast<void>(store.put(key("contested"), mine));
    });
  }
  for (int round = 0; round < 50; ++round) {
    const auto seen = zarrpoint::get(store, key("contested"), 1 << 20).value();
    if (!seen || seen->empty()) continue;
    const auto first = static_cast<unsigned>(seen->front());
    CHECK(seen->size() == 5000 + first);
    CHECK(std::count(seen->begin(), seen->end(), seen->front()) ==
          static_cast<std::ptrdiff_t>(seen->size()));
  }
  for (std::thread& one : crew) one.join();
}

/// Listing direct children.
inline void store_lists(const store_factory& make) {
  const auto store = make();
  using entries = std::vector<zarrpoint::list_entry>;
  CHECK(store.list(zarrpoint::store_key::root()).value().empty());
  for (const char* name : {"b/x/1", "b/x/2", "b/y", "a", "c-d/z", "c/z"})
    store.put(key(name), random_bytes(3)).value();
  CHECK(store.list(zarrpoint::store_key::root()).value() ==
        entries{{"a", false}, {"b", true}, {"c", true}, {"c-d", true}});
  CHECK(store.list(key("b")).value() == entries{{"x", true}, {"y", false}});
  CHECK(store.list(key("b/x")).value() == entries{{"1", false}, {"2", false}});
  CHECK(store.list(key("missing")).value().empty());
  CHECK(store.list(key("a")).value().empty());
  const auto unfinished = store.create(key("b/z")).value();
  unfinished->write(0, random_bytes(3)).value();
  CHECK(store.list(key("b")).value() == entries{{"x", true}, {"y", false}});
}

/// An object, or all beneath a key, under another name; for stores that can.
inline void store_renames(const store_factory& make) {
  const auto store = make();
  for (const char* name : {"a/b/1", "a/b/c/2", "a/bc", "x", "full/1"})
    store.put(key(name), random_bytes(3)).value();
  const auto moved = store.rename(key("a/b"), key("new/place"));
  if (!moved && moved.failure().code == zarrpoint::errc::unsupported) return;
  REQUIRE(moved);
  CHECK(read_object(store, "new/place/1") == random_bytes(3));
  CHECK(has_object(store, "new/place/c/2"));
  CHECK_FALSE(has_object(store, "a/b/1"));
  CHECK(has_object(store, "a/bc"));
  store.rename(key("x"), key("y")).value();
  CHECK(has_object(store, "y"));
  CHECK_FALSE(has_object(store, "x"));
  const auto fails = [&](std::string_view from, std::string_view to) {
    return store.rename(key(from), key(to)).failure().code;
  };
  CHECK(fails("missing", "z") == zarrpoint::errc::not_found);
  CHECK(fails("new", "full") == zarrpoint::errc::already_exists);
  CHECK(fails("y", "full/1") == zarrpoint::errc::already_exists);
  for (const auto& [from, to] : {std::pair{"new", "new/x"}, std::pair{"new/place", "new"},
                                 std::pair{"", "z"}, std::pair{"y", ""}, std::pair{"y", "y"}})
    CHECK(fails(from, to) == zarrpoint::errc::invalid_argument);
  CHECK(read_object(store, "new/place/1") == random_bytes(3));
}

/// All beneath a key at once; for stores that can.
inline void store_erases_all(const store_factory& make) {
  const auto store = make();
  for (const char* name : {"a/b/1", "a/b/c/2", "a/bc", "a/x"})
    store.put(key(name), random_bytes(3)).value();
  const auto erased = store.erase_all(key("a/b"));
  if (!erased && erased.failure().code == zarrpoint::errc::unsupported) return;
  CHECK(erased.value());
  CHECK_FALSE(has_object(store, "a/b/1"));
  CHECK_FALSE(has_object(store, "a/b/c/2"));
  CHECK(has_object(store, "a/bc"));
  CHECK_FALSE(store.erase_all(key("a/b")).value());
  CHECK_FALSE(store.erase_all(key("a/x")).value());
  CHECK_FALSE(store.erase_all(key("not/there")).value());
  if (store.can_list()) CHECK(store.list(key("a")).value().size() == 2);
  store.put(key("a/b/1"), random_bytes(4)).value();
  CHECK(read_object(store, "a/b/1").size() == 4);
}

/// A tree that appears in one step, or not at all.
inline void store_publishes(const store_factory& make) {
  for (const bool sync : {false, true}) {
    const auto store = make();
    const auto data = random_bytes(100);
    {
      const auto staged = store.stage(key("t/m"), {.sync = sync}).value();
      staged->store().put(key("x/y"), data).value();
      CHECK_FALSE(has_object(store, "t/m/x/y"));
      staged->commit().value();
    }
    CHECK(read_object(store, "t/m/x/y") == data);
    {
      const auto abandoned = store.stage(key("t/other"), {.sync = sync}).value();
      abandoned->store().put(key("x"), data).value();
    }
    CHECK_FALSE(has_object(store, "t/other/x"));
    CHECK(store.list(key("t")).value().size() == 1);
    {
      // Early, before the work is done, or at the end.
      const auto refused = [&]() -> zarrpoint::result<void> {
        ZARRPOINT_TRY(second, store.stage(key("t/m"), {.overwrite = false, .sync = sync}));
        ZARRPOINT_CHECK(second->store().put(key("z"), data));
        return second->commit();
      }();
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().code == zarrpoint::errc::already_exists);
    }
    CHECK(read_object(store, "t/m/x/y") == data);
    {
      const auto replacing = store.stage(key("t/m"), {.overwrite = true, .sync = sync}).value();
      for (int i = 0; i < 50; ++i)
        replacing->store().put(key("n/" + std::to_string(i)), data).value();
      CHECK(has_object(store, "t/m/x/y"));
      replacing->commit().value();
      CHECK_FALSE(replacing->commit());
    }
    CHECK_FALSE(has_object(store, "t/m/x/y"));
    CHECK(store.list(key("t/m/n")).value().size() == 50);
    CHECK(store.list(key("t")).value().size() == 1);
  }
}

/// All that a store promises, by what it can do.
inline void store_conformance(const store_factory& make) {
  const zarrpoint::any_store store = make();
  if (store.can_write()) {
    store_reads(make);
    store_writes(make);
    if (store.can_list()) store_lists(make);
    if (store.can_publish()) store_publishes(make);
    store_renames(make);
    store_erases_all(make);
  }
}

}  // namespace test
