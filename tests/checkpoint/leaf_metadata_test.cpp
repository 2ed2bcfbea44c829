// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/array_cases.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace leaf_metadata_test {

using namespace zarrpoint;

TEST_CASE("leaf_metadata: what is known without data") {
  const test::temp_directory dir;
  const tensor values = tensor::make({dtype_kind::float32, {600, 700}}).value();
  save(dir / "m.zarr", {{"w", values}, {"step", std::int64_t{1200}}, {"note", "warm"}},
       {.rules = {{.glob = "w", .chunk_shape = dims{100, 350}, .codecs = zstd_codecs(1)}}})
      .value();
  const checkpoint from = open(dir / "m.zarr").value();
  const leaf_metadata w = from.metadata("w").value();
  CHECK(w.name == "w");
  CHECK(w.typestr == "array");
  CHECK(w.spec == tensor_spec{dtype_kind::float32, {600, 700}});
  CHECK(w.chunk_shape == dims{100, 350});
  CHECK(w.shard_shape == dims{600, 700});
  CHECK(w.codecs == zstd_codecs(1));
  CHECK(w.stored_bytes.value() == std::filesystem::file_size(dir.path() / "m.zarr/w/c.0.0"));
  CHECK(w.zarr_format == 3);
  CHECK(from.names() == std::vector<std::string>{"note", "step", "w"});
  CHECK(from.contains("step"));
  CHECK_FALSE(from.contains("nope"));
  CHECK(from.metadata("nope").failure().code == errc::not_found);
}

TEST_CASE("leaf_metadata: of arrays that others wrote, nobody says how many bytes are stored") {
  const memory_store store;
  const group root = group::create(store).value();
  REQUIRE(root.create_array("w", zarrpoint_test::raw_metadata(dtype_kind::int16, {4}, {2})));
  const leaf_metadata w = open(store).value().metadata("w").value();
  CHECK(w.typestr.empty());
  CHECK_FALSE(w.stored_bytes);
  CHECK(w.chunk_shape == dims{2});
  CHECK(w.shard_shape == dims{2});
}

}  // namespace leaf_metadata_test
