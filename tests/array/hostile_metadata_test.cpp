// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A document under 1 MiB may state any shape, grid and chain. What it costs is bounded by what the
// caller asks for and by what is stored: counted here in calls of the store and in bytes.

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/resize.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/array_cases.hpp"
#include "support/counting_store.hpp"
#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hostile_metadata_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

std::string number(random_source& random) {
  constexpr std::uint64_t edges[] = {0,   1,       2,          3,          7,          255,
                                     256, 1000003, 1ULL << 24, 1ULL << 31, 1ULL << 40, 1ULL << 62};
  const std::uint64_t one = edges[pick(random, std::size(edges))];
  return std::to_string(pick(random, 3) == 0 ? one + pick(random, 3) : one);
}

std::string list_of(random_source& random, std::size_t rank) {
  std::string out = "[";
  for (std::size_t d = 0; d < rank; ++d) out += (d == 0 ? "" : ",") + number(random);
  return out + ']';
}

/// The extents of one axis: a number, or runs of up to some 100,000 bytes.
std::string edges_of(random_source& random) {
  if (pick(random, 4) == 0) return number(random);
  std::string out = "[";
  const std::size_t runs = pick(random, 3) == 0 ? 10000 : 1 + pick(random, 4);
  for (std::size_t i = 0; i < runs; ++i) {
    if (i != 0) out += ',';
    out += pick(random, 2) == 0
               ? std::to_string(1 + pick(random, 3))
               : "[" + std::to_string(1 + pick(random, 3)) + ',' + number(random) + ']';
  }
  return out + ']';
}

std::string codecs(random_source& random, std::size_t rank, int depth) {
  const std::string crc = R"({"name":"crc32c"})";
  const std::string bytes = R"({"name":"bytes","configuration":{"endian":"little"}})";
  std::string out = "[";
  switch (pick(random, depth > 12 ? 3 : 6)) {
    case 0: out += bytes; break;
    case 1: out += bytes + ",\"crc32c\""; break;
    case 2: {
      out += bytes;
      const std::size_t more = pick(random, 4) == 0 ? 20000 : 200;
      for (std::size_t i = 0; i < more; ++i) out += ',' + crc;
      break;
    }
    default:
      out += R"({"name":"sharding_indexed","configuration":{"chunk_shape":)" +
             list_of(random, rank) + R"(,"codecs":)" + codecs(random, rank, depth + 1) +
             R"(,"index_codecs":[)" + bytes + (pick(random, 2) == 0 ? ',' + crc : "") + "]}}";
  }
  return out + ']';
}

std::string document(random_source& random) {
  constexpr const char* types[] = {"bool", "int8", "float32", "float64", "complex128", "string"};
  const std::size_t type = pick(random, std::size(types));
  const std::size_t rank = pick(random, 8) == 0 ? pick(random, 33) : pick(random, 4);
  std::string grid =
      R"({"name":"regular","configuration":{"chunk_shape":)" + list_of(random, rank) + "}}";
  if (pick(random, 3) == 0) {
    grid = R"({"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[)";
    for (std::size_t d = 0; d < rank; ++d) grid += (d == 0 ? "" : ",") + edges_of(random);
    grid += "]}}";
  }
  const std::string fill = type == 0   ? "false"
                           : type == 4 ? "[0,0]"
                           : type == 5
                               ? '"' + std::string(pick(random, 2) == 0 ? 500000 : 3, 'x') + '"'
                               : "0";
  std::string attributes = "{}";
  if (pick(random, 4) == 0) {
    attributes = R"({"a":[0)";
    for (int i = 0; i < 100000; ++i) attributes += ",0";
    attributes += "]}";
  }
  return R"({"zarr_format":3,"node_type":"array","shape":)" + list_of(random, rank) +
         R"(,"data_type":")" + types[type] + R"(","chunk_grid":)" + grid +
         R"(,"chunk_key_encoding":{"name":")" + (pick(random, 2) == 0 ? "default" : "v2") +
         R"(","configuration":{"separator":")" + (pick(random, 2) == 0 ? "/" : ".") +
         R"("}},"fill_value":)" + fill + R"(,"codecs":)" +
         (type == 5 ? R"([{"name":"vlen-utf8"}])" : codecs(random, rank, 0)) + R"(,"attributes":)" +
         attributes + '}';
}

/// A part of at most `most` elements, where one can be had.
box part_of_shape(random_source& random, const dims& shape, index_t most) {
  box out{dims(shape.rank(), 0), dims(shape.rank(), 0)};
  for (std::size_t d = shape.rank(); d-- > 0;) {
    out.shape[d] = std::min(shape[d], std::max<index_t>(most, 1));
    most /= std::max<index_t>(out.shape[d], 1);
    const index_t room = shape[d] - out.shape[d];
    if (room > 0 && pick(random, 2) == 0)
      out.offset[d] = static_cast<index_t>(random() % static_cast<std::uint64_t>(room));
  }
  return out;
}

TEST_CASE("whatever metadata state, calls cost what is asked for" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  std::size_t opened = 0, read = 0, large = 0;
  for (std::uint64_t seed = 0; seed < zarrpoint_test::random_rounds(160U); ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    const std::string text = document(random);
    if (text.size() >= (std::size_t{1} << 20)) continue;  // compilers draw in another order
    const counting_store store(memory_store(), true);
    store.put(key_of("a/zarr.json"), as_bytes(text)).value();
    context how;
    how.limit.memory = std::size_t{64} << 20;
    std::uint64_t told = 0;
    how.progress = [&](const progress_event&) { ++told; };
    const auto made = array::open(store, key_of("a"), how);
    CHECK(store->calls() <= 4);
    if (!made) {
      CHECK(made.failure().code != errc::io);
      continue;
    }
    ++opened;
    for (const index_t most : {index_t{1}, index_t{100}, index_t{20000}}) {
      const box part = part_of_shape(random, made->metadata().shape, most);
      if (element_count(part.shape).value() > most) continue;
      store->clear();
      const auto got = made->read(part);
      if (got) {
        ++read;
        large += most == 20000 && element_count(part.shape).value() > 10000 ? 1U : 0U;
      } else {
        CHECK((got.failure().code == errc::resource_limit ||
               got.failure().code == errc::unsupported ||
               got.failure().code == errc::out_of_range || got.failure().code == errc::corrupt));
      }
      // Nothing is stored: one question for each of the first chunks, and a listing.
      CHECK(store->opens <= 256);
      CHECK(store->lists <= 1);
    }
    // All of it: answered within the budget, or refused.
    store->clear();
    const auto all = made->read(box::whole(made->metadata().shape));
    CHECK(store->opens <= 256);
    CHECK(store->lists <= 1);
    // A smaller shape visits what is stored, which is nothing.
    store->clear();
    dims half = made->metadata().shape;
    for (index_t& extent : half) extent /= 2;
    const auto resized = resize(*made, half);
    CHECK(store->calls() <= 4);
  }
  CHECK(opened > 10);
  CHECK(read > 30);
  CHECK(large >= zarrpoint_test::random_rounds(4U));
}

}}  // namespace hostile_metadata_test
