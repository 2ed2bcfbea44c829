// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/plan_layout.hpp>

#include <doctest/doctest.h>

namespace plan_layout_test {

using namespace zarrpoint;

namespace {

const tensor_spec matrix{dtype_kind::float32, {1024, 1024}};

dims inner_shape(const array_metadata& metadata) {
  REQUIRE(metadata.codecs.size() == 1);
  REQUIRE(metadata.codecs[0].name == "sharding_indexed");
  return sharding_config::from_configuration(metadata.codecs[0].configuration).value().chunk_shape;
}

std::string refusal(const save_options& options, const tensor_spec& spec = matrix) {
  const auto plan = detail::plan_layout("w", spec, options);
  REQUIRE_FALSE(plan);
  CHECK(plan.failure().code == errc::invalid_argument);
  return plan.failure().message;
}

}  // namespace

TEST_CASE("by default a leaf is one shard of contiguous raw inner chunks") {
  const array_metadata metadata = detail::plan_layout("w", matrix, {}).value().metadata;
  CHECK(metadata.chunk_shape == dims{1024, 1024});
  CHECK(inner_shape(metadata) == dims{256, 1024});
  CHECK(metadata.zarr_format == 3);
}

TEST_CASE("a leaf of one inner chunk has no shard") {
  for (const dims& shape : {dims{}, dims{3}, dims{0, 5}, dims{100, 100}}) {
    const array_metadata metadata =
        detail::plan_layout("w", {dtype_kind::float32, shape}, {}).value().metadata;
    REQUIRE(metadata.codecs.size() == 1);
    CHECK(metadata.codecs[0].name == "bytes");
    for (std::size_t i = 0; i < shape.rank(); ++i) CHECK(metadata.chunk_shape[i] >= 1);
  }
}

TEST_CASE("the shard is whole inner chunks, past the edge if need be") {
  const array_metadata metadata =
      detail::plan_layout("w", {dtype_kind::float32, {1001, 1000}}, {}).value().metadata;
  CHECK(inner_shape(metadata) == dims{251, 1000});
  CHECK(metadata.chunk_shape == dims{1004, 1000});
}

TEST_CASE("rules apply by name, and the last one that sets a thing wins") {
  const save_options options{.rules = {{.codecs = zstd_codecs(3)},
                                       {.glob = "*/w", .chunk_shape = dims{128, 1024}},
                                       {.glob = "a/*", .codecs = zstd_codecs(9)}}};
  const auto chain = [&](std::string_view name) {
    const array_metadata metadata = detail::plan_layout(name, matrix, options).value().metadata;
    return sharding_config::from_configuration(metadata.codecs[0].configuration).value();
  };
  CHECK(chain("b/x").codecs == zstd_codecs(3));
  CHECK(chain("b/x").chunk_shape == dims{256, 1024});
  CHECK(chain("b/w").chunk_shape == dims{128, 1024});
  CHECK(chain("a/w").codecs == zstd_codecs(9));
  CHECK(chain("a/w").chunk_shape == dims{128, 1024});
}

TEST_CASE("blosc is told the size of elements, which readers want to know") {
  const auto type_size = [](const tensor_spec& spec, int format, std::vector<codec_spec> codecs) {
    const save_options options{.zarr_format = format, .rules = {{.codecs = std::move(codecs)}}};
    const auto chain = detail::plan_layout("w", spec, options).value().metadata.codecs;
    REQUIRE(chain[1].name == "blosc");
    return *chain[1].configuration.find("typesize");
  };
  for (const int format : {2, 3}) {
    CHECK(type_size({dtype_kind::bfloat16, {7}}, format, blosc_codecs()) == json(2));
    CHECK(type_size({dtype_kind::complex128, {7}}, format, blosc_codecs()) == json(16));
    CHECK(type_size({dtype_kind::string, {7}}, format, blosc_codecs()) == json(1));
  }
  CHECK(type_size({dtype_kind::float64, {7}}, 3, {{"bytes"}, {"blosc"}}) == json(8));
  const codec_spec given{"blosc", json::object{{"typesize", 4}}};
  CHECK(type_size({dtype_kind::float64, {7}}, 3, {{"bytes"}, given}) == json(4));
}

TEST_CASE("shards and chunks of the caller") {
  save_options options{.rules = {{.chunk_shape = dims{64, 64}, .shard_shape = dims{256, 512}}}};
  const array_metadata metadata = detail::plan_layout("w", matrix, options).value().metadata;
  CHECK(metadata.chunk_shape == dims{256, 512});
  CHECK(inner_shape(metadata) == dims{64, 64});

  options.rules = {{.shard_shape = dims{300, 1024}}};
  const array_metadata divided = detail::plan_layout("w", matrix, options).value().metadata;
  CHECK(divided.chunk_shape == dims{300, 1024});
  CHECK(300 % inner_shape(divided)[0] == 0);
}

TEST_CASE("chunk_byte_size picks the chunk, and is ignored beside a chunk shape, with a warning") {
  save_options options{.rules = {{.chunk_byte_size = 65536}}};
  CHECK(inner_shape(detail::plan_layout("w", matrix, options).value().metadata) == dims{128, 128});
  options.rules.push_back({.chunk_shape = dims{512, 512}});
  const detail::planned_layout plan = detail::plan_layout("w", matrix, options).value();
  CHECK(inner_shape(plan.metadata) == dims{512, 512});
  REQUIRE(plan.warnings.size() == 1);
  CHECK(plan.warnings[0] == "chunk_byte_size is ignored: chunk_shape is given");
}

TEST_CASE("options that make no sense are refused with the reason") {
  CHECK(refusal({.rules = {{.chunk_shape = dims{3, 1024}, .shard_shape = dims{256, 1024}}}})
            .find("chunk_shape [3, 1024] does not divide shard_shape [256, 1024]") !=
        std::string::npos);
  CHECK(refusal({.rules = {{.chunk_shape = dims{3}}}})
            .find("chunk_shape [3] must have the same rank as the tensor of shape [1024, 1024]") !=
        std::string::npos);
  CHECK(refusal({.rules = {{.chunk_shape = dims{0, 4}}}}).find("extent below 1") !=
        std::string::npos);
  CHECK(refusal({.rules = {{.chunk_byte_size = 3}}}).find("is less than one element") !=
        std::string::npos);
  CHECK(refusal({.zarr_format = 4}).find("neither 2 nor 3") != std::string::npos);
  for (const leaf_rule& rule :
       {leaf_rule{.chunk_shape = dims{4, 4}}, leaf_rule{.shard_shape = dims{4, 4}},
        leaf_rule{.chunk_byte_size = 4096}}) {
    CHECK(refusal({.zarr_format = 2, .rules = {rule}}).find("need Zarr v3") != std::string::npos);
  }
  CHECK(refusal({.rules = {{.codecs = zstd_codecs(23)}}}) ==
        "codec \"zstd\": level 23 is not from -131072 to 22");
  CHECK(refusal({.zarr_format = 2, .rules = {{.codecs = zstd_codecs(-131073)}}}) ==
        "codec \"zstd\": level -131073 is not from -131072 to 22");
  const index_t huge = index_t{1} << 62;
  CHECK_FALSE(detail::plan_layout("w", matrix, {.rules = {{.chunk_shape = dims{huge, 16}}}}));
}

TEST_CASE("Zarr v2 cuts what is larger than 64 MiB into equal runs") {
  const auto chunk_of = [](const dims& shape) {
    return detail::plan_layout("w", {dtype_kind::float32, shape}, {.zarr_format = 2})
        .value()
        .metadata.chunk_shape;
  };
  CHECK(chunk_of({4096, 4096}) == dims{4096, 4096});
  CHECK(chunk_of({4097, 4096}) == dims{2049, 4096});
  CHECK(chunk_of({3, 4096, 4096}) == dims{1, 4096, 4096});
  CHECK(chunk_of({(index_t{16} << 20) + 1}) == dims{(index_t{8} << 20) + 1});
  CHECK(chunk_of({}) == dims{});
  CHECK(chunk_of({0, 5}) == dims{1, 5});
}

TEST_CASE("Zarr v2 has one chunk a leaf") {
  const array_metadata metadata =
      detail::plan_layout("w", matrix, {.zarr_format = 2}).value().metadata;
  CHECK(metadata.zarr_format == 2);
  CHECK(metadata.chunk_shape == dims{1024, 1024});
  CHECK(metadata.keys.key({0, 0}) == "0.0");
}

}  // namespace plan_layout_test
