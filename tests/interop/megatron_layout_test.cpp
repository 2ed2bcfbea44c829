// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

namespace megatron_layout_test {

using namespace zarrpoint;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/megatron/zarr-tp2-dp2-4ranks/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

TEST_CASE("megatron_layout: metadata.json, byte for byte") {
  const std::string text = megatron::detail::to_json({});
  CHECK(text.size() == 113);
  CHECK(text == test::read_file(golden + "metadata.json"));
  const memory_store store;
  CHECK(megatron::detail::read_metadata(store).failure().code == errc::not_found);
  megatron::detail::write_metadata(store).value();
  CHECK(megatron::detail::read_metadata(store).value() == megatron::backends{});
  const auto read = [&](std::string_view json) {
    store.put(key("metadata.json"), as_bytes(json)).value();
    return megatron::detail::read_metadata(store);
  };
  CHECK(read(R"({"sharded_backend": "torch_dist", "sharded_backend_version": 2})").value() ==
        megatron::backends{"torch_dist", 2, "torch", 1});
  for (const char* broken :
       {"", "[]", "{}", "{\"sharded_backend\": \"zarr\"}",
        R"({"sharded_backend": 1, "sharded_backend_version": 1})",
        R"({"sharded_backend": "zarr", "sharded_backend_version": "1"})",
        R"({"sharded_backend": "zarr", "sharded_backend_version": 1, "common_backend": "torch"})"})
    CHECK(read(broken).failure().code == errc::corrupt);
}

TEST_CASE("megatron_layout: .zarray, byte for byte") {
  using megatron::detail::tensor_layout;
  const auto document = [](const dtype& type, const dims& shape, const dims& chunks) {
    return megatron::detail::array_document({{type, shape}, chunks}).value();
  };
  CHECK(document(dtype_kind::bfloat16, {12}, {12}) ==
        test::read_file(golden + "decoder.bias_bf16/.zarray"));
  CHECK(document(dtype_kind::float32, {2, 2, 4}, {1, 2, 4}) ==
        test::read_file(golden + "decoder.layers/.zarray"));
  CHECK(document(dtype_kind::int64, {}, {}).find("\"chunks\": [],\n") != std::string::npos);
  const std::pair<dtype_kind, const char*> names[] = {
      {dtype_kind::bool_, "|b1"},     {dtype_kind::uint8, "|u1"},      {dtype_kind::int8, "|i1"},
      {dtype_kind::int16, "<i2"},     {dtype_kind::int32, "<i4"},      {dtype_kind::int64, "<i8"},
      {dtype_kind::float16, "<f2"},   {dtype_kind::float32, "<f4"},    {dtype_kind::float64, "<f8"},
      {dtype_kind::complex64, "<c8"}, {dtype_kind::complex128, "<c16"}};
  for (const auto& [type, name] : names) {
    CHECK(document(type, {4}, {2}).find(std::string("\"dtype\": \"") + name + '"') !=
          std::string::npos);
    const auto metadata = megatron::detail::to_metadata({{type, {4}}, {2}}).value();
    CHECK(metadata.type == dtype(type));
    CHECK(metadata.chunk_shape == dims{2});
    CHECK(metadata.fill.is_null());
    CHECK(metadata.keys.key({1}) == megatron::detail::chunk_name({1}));
  }
  const auto refused = [](const tensor_layout& of) {
    return megatron::detail::array_document(of).failure().code;
  };
  CHECK(refused({{dtype_kind::uint16, {4}}, {2}}) == errc::unsupported);
  CHECK(refused({{dtype_kind::float8_e5m2, {4}}, {2}}) == errc::unsupported);
  CHECK(refused({{dtype_kind::float32, {4}}, {2, 1}}) == errc::invalid_argument);
  CHECK(refused({{dtype_kind::float32, {4}}, {0}}) == errc::invalid_argument);
  CHECK(refused({{dtype_kind::float32, {INT64_MAX, 8}}, {1, 1}}) == errc::out_of_range);

  const memory_store store;
  const tensor_layout layout{{dtype_kind::float32, {4}}, {2}};
  megatron::detail::put_array_document(store, "a/b", layout).value();
  CHECK(store.open(key("a/b/.zarray")).value() != nullptr);
  const error again = megatron::detail::put_array_document(store, "a/b", layout).failure();
  CHECK(again.code == errc::already_exists);
  CHECK(again.message.find("already exists") != std::string::npos);
  for (const char* bad : {"", "a/../b", "metadata.json", "common.pt", "/a", "a\n"})
    CHECK(megatron::detail::put_array_document(store, bad, layout).failure().code ==
          errc::invalid_argument);
}

TEST_CASE("megatron_layout: names of chunks and objects") {
  CHECK(megatron::detail::chunk_name({}) == "0");
  CHECK(megatron::detail::chunk_name({1, 0, 12}) == "1.0.12");
  using megatron::object_id;
  for (const object_id& id :
       {object_id{"ObjB", {0, 3}, {1, 8}}, object_id{"k", {}, {}}, object_id{"a/b_c", {7}, {9}}})
    CHECK(megatron::parse_unique_key(megatron::unique_key(id)) == id);
  CHECK(megatron::unique_key({"ObjB", {0, 3}, {1, 8}}) == "ObjB/shard_0.3_1.8");
  CHECK(megatron::unique_key({"k", {}, {}}) == "k/shard__");
  CHECK(megatron::parse_unique_key("k/shard_0.3_1")->shape == dims{1});  // an old name
  for (const char* none : {"", "shard_0_1", "/shard_0_1", "k/shard_0", "k/chard_0_1",
                           "k/shard_0_1_2", "k/shard_0.0.0_1", "k/shard_a_1", "k/shard_0._1.",
                           "k/shard_-1_1", "k/shard_0_1.1", "k/shard_99999999999999999999_1"})
    CHECK_FALSE(megatron::parse_unique_key(none));
}

TEST_CASE("megatron_layout: objects and common state; nothing is written under a wrong name") {
  const memory_store store;
  const json step = json::object{{"step", 3}};
  megatron::detail::put_object(store, "optimizer.step/shard_0_1", step).value();
  megatron::detail::write_common(store, json(json::object{{"iteration", 7}})).value();
  CHECK(store.open(key("optimizer.step/shard_0_1.pt")).value() != nullptr);
  CHECK(store.open(key("common.pt")).value() != nullptr);
  for (const char* bad :
       {"step", "k/shard_0.3_1", "k/shard_00_1", "../shard_0_1", "common.pt/shard_0_1"})
    CHECK(megatron::detail::put_object(store, bad, step).failure().code == errc::invalid_argument);
  CHECK(store.list(store_key::root()).value().size() == 2);
}

}  // namespace megatron_layout_test
