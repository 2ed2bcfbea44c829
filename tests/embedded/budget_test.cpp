// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarrpoint.hpp>

#include "counted_new.hpp"
#include "support/temp_directory.hpp"

#include <arena.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

// What loading costs, in bytes. Everything runs on one thread, so that each number is the same in
// every run.

namespace zp = zarrpoint;

namespace {

/// The caller's memory, apart from what is counted.
alignas(64) std::array<std::byte, 4 << 20> memory;

/// A checkpoint of `leaves` tensors of float32, `rows` x 256 each, compressed in inner chunks of 64
/// rows.
struct sample {
  sample(std::size_t leaves, std::size_t rows) : path(dir / "c.zarr"), tensor_bytes(rows * 1024) {
    std::vector<float> numbers(rows * 256);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * i % 977);
    const zp::tensor_spec spec{zp::dtype_of<float>, {static_cast<zp::index_t>(rows), 256}};
    std::vector<zp::leaf> all;
    for (std::size_t i = 0; i < leaves; ++i)
      all.emplace_back(name(i), zp::dense_view(std::as_bytes(std::span(numbers)).data(), spec));
    const zp::leaf_rule rule{.chunk_shape = zp::dims{64, 256}, .codecs = zp::zstd_codecs(1)};
    zp::save(path, all, {.rules = {rule}, .sync = false}, zp::context{}).value();
    document_bytes = std::filesystem::file_size(path + "/zarr.json");
  }

  static std::string name(std::size_t i) { return "layers/" + std::to_string(i) + "/weight"; }

  test::temp_directory dir;
  std::string path;
  std::size_t tensor_bytes;
  std::size_t document_bytes = 0;
};

zp::error failure_of(const sample& from, const zp::context& how) {
  const auto opened = zp::open(from.path, how);
  if (!opened) return opened.failure();
  const auto loaded = opened->load<zp::tensor>(from.name(0));
  return loaded ? zp::error{} : loaded.failure();
}

/// Whether it can be loaded; if not, it must be for want of memory.
bool fits(const sample& from, const zp::context& how) {
  const zp::error failure = failure_of(from, how);
  if (failure.message.empty()) return true;
  CHECK(failure.code == zp::errc::resource_limit);
  return false;
}

}  // namespace

TEST_CASE("outside of the caller's memory there are metadata, in proportion to their document") {
  std::size_t document = 0;
  for (const std::size_t leaves : {1U, 20U, 200U}) {
    const sample from(leaves, 256);
    CAPTURE(from.document_bytes);
    REQUIRE(from.document_bytes > document);
    document = from.document_bytes;

    example::arena arena(memory.data(), memory.size());
    zp::limited_resource own(SIZE_MAX, arena);  // counts
    const std::size_t before = test::restart_peak();
    const auto opened = zp::open(from.path, {.resource = &own}).value();
    const std::size_t open_peak = test::counted_new().peak - before;
    const std::size_t open_live = test::counted_new().live - before;
    CAPTURE(open_peak);
    CAPTURE(open_live);
    // docs/embedding.md promises these factors.
    CHECK(open_peak <= 8 * document + 8192);
    CHECK(open_live <= 4 * document + 4096);
    CHECK(own.peak() == 0);

    // From here on, a leaf's own metadata only.
    const std::size_t opened_live = test::restart_peak();
    for (std::size_t i = 0; i < leaves; ++i) {
      const auto loaded = opened.load<zp::tensor>(from.name(i)).value();
      CHECK(own.in_use() >= from.tensor_bytes);
    }
    const std::size_t load_peak = test::counted_new().peak - opened_live;
    CAPTURE(load_peak);
    CHECK(load_peak <= 16384);
    // The tensor, an inner chunk as it is stored, and the decoder's state.
    CHECK(own.peak() >= from.tensor_bytes);
    CHECK(own.peak() <= from.tensor_bytes + 65536 + (192 << 10));
  }
}

TEST_CASE("a view of a mapped file takes nothing of the caller's memory but the shard's index") {
  const test::temp_directory dir;
  const std::string path = dir / "c.zarr";
  zp::save(path, {{"w", std::vector<float>(1 << 20, 1.5F)}}, {.sync = false}, zp::context{})
      .value();
  example::arena own(memory.data(), memory.size());
  const auto opened = zp::open(path, {.resource = &own}).value();
  const std::size_t before = test::restart_peak();
  const auto view = opened.view<float>("w", true).value();
  CHECK(view.is_zero_copy());
  CHECK(own.peak() <= 4096);
  CHECK(test::counted_new().peak - before <= 16384);
}

TEST_CASE("a budget of the caller's memory: enough is enough, and too little is an error") {
  const sample from(1, 300);
  zp::limited_resource counting(SIZE_MAX);
  REQUIRE(fits(from, {.resource = &counting}));
  const std::size_t needed = counting.peak();
  REQUIRE(needed > from.tensor_bytes);

  zp::limited_resource enough(needed);
  CHECK(fits(from, {.resource = &enough}));
  // A byte less may do: a read that begins again without memory joins what is left of it.
  zp::limited_resource little(needed - 1);
  static_cast<void>(fits(from, {.resource = &little}));
  CHECK(little.in_use() == 0);  // nothing is lost on the way
  CHECK(little.peak() < needed);
  zp::limited_resource too_little(from.tensor_bytes);
  CHECK_FALSE(fits(from, {.resource = &too_little}));
  CHECK(too_little.in_use() == 0);
  for (std::size_t i = 0; i < 16; ++i) {
    zp::limited_resource less(needed / 16 * i);
    CHECK_FALSE(fits(from, {.resource = &less}));
    CHECK(less.in_use() == 0);
  }
}

TEST_CASE("limits::memory: enough is enough, and a byte less is an error") {
  const sample from(1, 300);
  const auto fits_in = [&](std::size_t bytes) {
    zp::limited_resource counting(SIZE_MAX);
    const bool fitted = fits(from, {.limit = {.memory = bytes}, .resource = &counting});
    // The tensor counts by itself, and beside it all that is needed to fill it.
    CHECK(counting.peak() <= from.tensor_bytes + bytes);
    CHECK(counting.in_use() == 0);
    return fitted;
  };
  std::size_t refused = 0;
  std::size_t enough = std::size_t{4} << 20;
  REQUIRE(fits_in(enough));
  while (enough - refused > 1) {
    const std::size_t middle = refused + (enough - refused) / 2;
    (fits_in(middle) ? enough : refused) = middle;
  }
  CHECK(enough >= from.tensor_bytes);
  CHECK(fits_in(enough));
  CHECK_FALSE(fits_in(enough - 1));
}

TEST_CASE("limits::metadata_bytes is exact, and refuses before it reads") {
  const sample from(3, 64);
  CHECK(fits(from, {.limit = {.metadata_bytes = from.document_bytes}}));
  const std::size_t before = test::restart_peak();
  CHECK_FALSE(fits(from, {.limit = {.metadata_bytes = from.document_bytes - 1}}));
  CHECK(test::counted_new().peak - before < 4096);
}
