// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "../support/commit_node.hpp"
#include "../support/counting_store.hpp"
#include "../support/executors.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <span>
#include <vector>

namespace checkpoint_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

template <class T>
error failure_of(const result<T>& refused) {
  REQUIRE_FALSE(refused);
  return refused.failure();
}

bool mentions(const error& failure, std::string_view text) {
  const bool found = failure.message.find(text) != std::string::npos;
  if (!found) MESSAGE(failure.message);
  return found;
}

/// A matrix of 600 x 700 floats in several inner chunks, saved in `dir`.
struct saved_matrix {
  test::temp_directory dir;
  std::string path = dir / "m.zarr";
  tensor values = tensor::make({dtype_kind::float32, {600, 700}}).value();

  explicit saved_matrix(const save_options& options = {}) {
    auto data = values.data<float>();
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 9973) * 0.25F;
    save(path, {{"w", values}, {"step", std::int64_t{1200}}, {"note", "warm"}}, options).value();
  }
  checkpoint opened(const context& how = default_context()) const {
    return open(path, how).value();
  }
};

}  // namespace

TEST_CASE("a missing leaf is named together with those that are there") {
  const saved_matrix m;
  const error failure = failure_of(m.opened().load<float>("layers/0/w"));
  CHECK(failure.code == errc::not_found);
  CHECK(mentions(failure, "load \"layers/0/w\""));
  CHECK(mentions(failure, "\"note\", \"step\", \"w\""));
}

TEST_CASE("dtype and shape are refused before a chunk is read") {
  const saved_matrix m;
  fs::remove_all(m.dir.path() / "m.zarr/w/c.0.0");
  const error dtype_error = failure_of(m.opened().load<std::vector<double>>("w"));
  CHECK(mentions(failure_of(m.opened().load<double>("step")),
                 "stored dtype is int64, wanted float64"));
  CHECK(dtype_error.code == errc::dtype_mismatch);
  CHECK(failure_of(m.opened().load<std::vector<float>>("w")).code == errc::shape_mismatch);
  std::vector<float> small(10);
  CHECK(failure_of(m.opened().load_into("w", std::span<float>(small))).code ==
        errc::shape_mismatch);
}

TEST_CASE("a flat target takes any shape of as many elements") {
  const saved_matrix m;
  std::vector<float> flat(600 * 700);
  m.opened().load_into("w", std::span<float>(flat)).value();
  CHECK(std::equal(flat.begin(), flat.end(), m.values.data<float>().begin()));
}

TEST_CASE("plain braces are the default options; with something in them they are what they say") {
  const saved_matrix m;
  const checkpoint from = m.opened();
  CHECK(from.load<std::int64_t>("step", {}).value() == 1200);
  CHECK(from.load<std::string>("note", {}).value() == "warm");
  CHECK(from.load<tensor>("w", {}, {}).value().shape() == dims{600, 700});
  CHECK(failure_of(from.load<double>("step", {})).code == errc::dtype_mismatch);
  CHECK(from.load<double>("step", {.cast = true}).value() == 1200.0);
  CHECK(from.load<double>("step", {}, {.cast = true}).value() == 1200.0);
  CHECK(from.load<tensor>("w", {.resource = &default_resource()}).value().size() == 600 * 700);
}

TEST_CASE("casts on load, when allowed") {
  const saved_matrix m;
  std::vector<bfloat16> half(600 * 700);
  m.opened().load_into("w", std::span<bfloat16>(half), {.cast = true}).value();
  for (std::size_t i = 0; i < half.size(); ++i)
    REQUIRE(half[i].to_bits() == bfloat16(m.values.data<float>()[i]).to_bits());
  CHECK(m.opened().load<double>("step", {.cast = true}).value() == 1200.0);
  CHECK(failure_of(m.opened().load<double>("note", {.cast = true})).code == errc::unsupported);
}

TEST_CASE("a rule casts what has no dtype of its own") {
  const saved_matrix m;
  const load_options options{.rules = {{.glob = "*", .cast = dtype(dtype_kind::float64)}}};
  const tensor loaded = m.opened().load<tensor>("w", options).value();
  CHECK(loaded.type() == dtype_kind::float64);
  CHECK(loaded.data<double>()[7] == static_cast<double>(m.values.data<float>()[7]));
  CHECK(m.opened().load<double>("step", options).value() == 1200.0);
  CHECK(failure_of(m.opened().load<float>("step", options)).code == errc::dtype_mismatch);
}

TEST_CASE("another shape pads with zeros or truncates, when a rule says so") {
  const saved_matrix m;
  const load_options options{.rules = {{.glob = "w", .shape = dims{610, 5}}}};
  const tensor loaded = m.opened().load<tensor>("w", options).value();
  CHECK(loaded.shape() == dims{610, 5});
  const auto data = loaded.data<float>();
  for (std::size_t row = 0; row < 610; ++row) {
    for (std::size_t column = 0; column < 5; ++column)
      REQUIRE(data[row * 5 + column] ==
              (row < 600 ? m.values.data<float>()[row * 700 + column] : 0.0F));
  }
  CHECK(failure_of(m.opened().load<tensor>("w", {.rules = {{.shape = dims{3}}}})).code ==
        errc::shape_mismatch);
}

TEST_CASE("a view maps a raw leaf where it lies, and copies another") {
  const saved_matrix m;
  const mapped_tensor<float> view = m.opened().view<float>("w").value();
  CHECK(view.is_zero_copy());
  CHECK(view.shape() == dims{600, 700});
  CHECK(std::equal(view.begin(), view.end(), m.values.data<float>().begin()));
  CHECK(reinterpret_cast<std::uintptr_t>(view.data()) % 64 == 0);
  CHECK(m.opened().view<std::int64_t>("step").value()[0] == 1200);
  CHECK(failure_of(m.opened().view<double>("w")).code == errc::dtype_mismatch);
  const saved_matrix packed({.rules = {{.codecs = zstd_codecs(1)}}});
  const mapped_tensor<float> copy = packed.opened().view<float>("w").value();
  CHECK_FALSE(copy.is_zero_copy());
  CHECK(std::equal(copy.begin(), copy.end(), m.values.data<float>().begin()));
}

TEST_CASE("a view outlives its checkpoint, and the file being replaced") {
  const saved_matrix m;
  const mapped_tensor<float> view = m.opened().view<float>("w").value();
  save(m.path, {{"w", std::vector<float>{1}}}).value();
  CHECK(view[600 * 700 - 1] == m.values.data<float>().back());
}

TEST_CASE("a flipped bit anywhere in a leaf's data is found, and the chunk is named") {
  for (const bool compressed : {false, true}) {
    save_options options;
    if (compressed) options.rules = {{.codecs = zstd_codecs(1)}};
    const saved_matrix m(options);
    const fs::path file = m.dir.path() / "m.zarr/w/c.0.0";
    const std::string good = test::read_file(file);
    REQUIRE(good.size() > 1000);
    for (std::size_t at = 0; at < good.size(); at += good.size() / 97) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      test::write_file(file, bad);
      const auto loaded = m.opened().load<tensor>("w");
      // Padding behind the last row of the last inner chunk is covered, too.
      CAPTURE(at);
      const error failure = failure_of(loaded);
      CHECK(failure.code == errc::corrupt);
      CHECK(mentions(failure, "load \"w\""));
      CHECK(mentions(failure, "c.0.0"));
    }
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, good.size() / 2, good.size() - 1}) {
      test::write_file(file, good.substr(0, size));
      CHECK(failure_of(m.opened().load<tensor>("w")).code == errc::corrupt);
    }
    fs::remove(file);
    const error lost = failure_of(m.opened().load<tensor>("w"));
    CHECK(mentions(lost, "c.0.0"));
    CHECK(mentions(lost, "missing"));
    test::write_file(file, good);
    CHECK(m.opened().load<tensor>("w"));
  }
}

TEST_CASE("objects of the same leaf that are swapped or stale are found") {
  const save_options options{.rules = {{.glob = "w",
                                        .chunk_shape = dims{100, 700},
                                        .shard_shape = dims{300, 700},
                                        .codecs = zstd_codecs(1)}}};
  const saved_matrix m(options);
  const fs::path first = m.dir.path() / "m.zarr/w/c/0/0";
  const fs::path second = m.dir.path() / "m.zarr/w/c/1/0";
  const std::string kept = test::read_file(first);
  test::write_file(first, test::read_file(second));
  CHECK(failure_of(m.opened().load<tensor>("w")).code == errc::corrupt);
  test::write_file(first, kept);
  CHECK(m.opened().load<tensor>("w"));
  CHECK(m.opened().load<tensor>("w", {.verify = false}));
}

TEST_CASE("a changed commit document is refused") {
  const saved_matrix m;
  const fs::path file = m.dir.path() / "m.zarr/zarr.json";
  const std::string good = test::read_file(file);
  std::string bad = good;
  const std::size_t at = bad.find("\"size\":") + 7;
  bad[at] = bad[at] == '1' ? '2' : '1';
  test::write_file(file, bad);
  const error failure = failure_of(open(m.path));
  CHECK(failure.code == errc::corrupt);
  CHECK(mentions(failure, "checksum"));
  for (std::size_t size = 0; size < good.size(); size += 13) {
    test::write_file(file, good.substr(0, size));
    const auto refused = open(m.path);
    CHECK_FALSE(refused);
  }
}

TEST_CASE("load_async gives what load gives, later") {
  const saved_matrix m;
  const testing::manual_executor later;
  pending<tensor> waiting = m.opened({.executor = any_executor(later)}).load_async<tensor>("w");
  CHECK_FALSE(waiting.ready());
  later.run_all();
  CHECK(waiting.ready());
  const tensor loaded = waiting.get().value();
  CHECK(std::memcmp(loaded.view().data, m.values.view().data, 600 * 700 * sizeof(float)) == 0);
  CHECK(failure_of(m.opened().load_async<tensor>("no").get()).code == errc::not_found);
}

TEST_CASE("boxes of a leaf are read as strictly as the leaf") {
  const saved_matrix m;
  const array w = m.opened().as_array("w").value();
  const tensor corner = w.read(box{{598, 697}, {2, 3}}).value();
  CHECK(corner.data<float>()[5] == m.values.data<float>()[600 * 700 - 1]);
  const fs::path file = m.dir.path() / "m.zarr/w/c.0.0";
  std::string bytes = test::read_file(file);
  bytes[4] = static_cast<char>(bytes[4] ^ 1);
  test::write_file(file, bytes);
  const error changed = failure_of(w.read(box{{0, 0}, {1, 1}}));
  CHECK(changed.code == errc::corrupt);
  CHECK(mentions(changed, "w: chunk c.0.0: inner chunk [0, 0]"));
  CHECK(w.read(box{{598, 697}, {2, 3}}));  // of another inner chunk
  fs::remove(file);
  CHECK(mentions(failure_of(w.read(box{{598, 697}, {2, 3}})), "it is missing"));
  CHECK(mentions(failure_of(m.opened().load<tensor>("w", {.verify = false})), "it is missing"));
  CHECK_FALSE(m.opened().view<float>("w"));
}

TEST_CASE("a part of a leaf is loaded as a type of one's own") {
  const saved_matrix m;
  const checkpoint c = m.opened();
  const auto expected = [&](index_t row, index_t column) {
    return m.values.data<float>()[static_cast<std::size_t>(row * 700 + column)];
  };
  const box rows({10, 3}, {2, 2});
  const auto flat = c.load<std::vector<float>>("w", rows).value();
  CHECK(flat ==
        std::vector<float>{expected(10, 3), expected(10, 4), expected(11, 3), expected(11, 4)});
  const auto square = c.load<std::array<std::array<float, 2>, 2>>("w", rows).value();
  CHECK(square[1][0] == expected(11, 3));
  const tensor own = c.load<tensor>("w", selection({0, 0}, {3, 1}, {250, 1})).value();
  CHECK(own.shape() == dims{3, 1});
  CHECK(own.data<float>()[2] == expected(500, 0));
  CHECK(failure_of(c.load<float>("w", box())).code == errc::invalid_argument);
  CHECK(c.load<std::int64_t>("step", box()).value() == 1200);

  std::vector<float> mine(4);
  c.load_into("w", rows, mine).value();
  CHECK(mine == flat);
  std::vector<double> wide(4);
  CHECK(failure_of(c.load_into("w", rows, wide)).code == errc::dtype_mismatch);
  c.load_into("w", rows, std::span<double>(wide), {.cast = true}).value();
  CHECK(wide[3] == static_cast<double>(flat[3]));
  CHECK(c.load<std::vector<double>>("w", rows, {.cast = true}).value() == wide);
  const load_rule half{.glob = "w", .cast = dtype(dtype_kind::bfloat16)};
  CHECK(c.load<tensor>("w", rows, {.rules = {half}}).value().type() == dtype_kind::bfloat16);
}

TEST_CASE("a part of a leaf of more elements than are counted is loaded") {
  const index_t length = index_t{1} << 62;
  for (const int format : {2, 3}) {
    CAPTURE(format);
    const memory_store store;
    array_metadata metadata;
    metadata.zarr_format = format;
    metadata.type = dtype_kind::float64;
    metadata.shape = {length, length};
    metadata.chunk_shape = {2, 2};
    metadata.fill = fill_value::of(0.5);
    metadata.codecs = {{"bytes", json::object{{"endian", "little"}}}};
    if (format == 2) metadata.keys = {chunk_key_encoding::style::v2, '.'};
    const array made = array::create(store, store_key::root(), metadata).value();
    const std::vector<double> values{1, 2, 3, 4, 5, 6};
    const box part({length - 3, length - 2}, {3, 2});
    REQUIRE(made.write(part, dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                        {dtype_kind::float64, {3, 2}})));
    const checkpoint c = open(store).value();
    CHECK(c.load<std::vector<double>>("", part).value() == values);
    CHECK(c.load<std::vector<double>>("", selection({length - 3, length - 1}, {2, 1}, {2, 1}))
              .value() == std::vector<double>{2, 6});
    CHECK(c.load<std::vector<double>>("", box({length / 2, 7}, {1, 1})).value() ==
          std::vector<double>{0.5});
    CHECK(failure_of(c.load<tensor>("")).code == errc::out_of_range);
    CHECK(failure_of(c.load<tensor>("", box({length - 1, 0}, {2, 1}))).code == errc::out_of_range);
  }
}

TEST_CASE("a part that does not fit is refused before a chunk is read, within the budget") {
  const saved_matrix m;
  fs::remove_all(m.path + "/w/c.0.0");
  const checkpoint c = m.opened();
  std::vector<float> four(4);
  CHECK(mentions(failure_of(c.load_into("w", box({600, 0}, {1, 4}), four)), "load \"w\""));
  CHECK(failure_of(c.load_into("w", box({600, 0}, {1, 4}), four)).code == errc::out_of_range);
  CHECK(failure_of(c.load<tensor>("w", box({599, 0}, {2, 4}))).code == errc::out_of_range);
  CHECK(failure_of(c.load<tensor>("w", box({0}, {4}))).code == errc::invalid_argument);
  CHECK(failure_of(c.load_into("w", box({0, 0}, {1, 5}), four)).code == errc::shape_mismatch);
  using pair_of_floats = std::array<float, 2>;
  CHECK(failure_of(c.load<pair_of_floats>("w", box({0, 0}, {1, 3}))).code == errc::shape_mismatch);
  CHECK(failure_of(c.load<std::vector<int>>("w", box({0, 0}, {1, 4}))).code ==
        errc::dtype_mismatch);
  CHECK(failure_of(c.load<tensor>("none", box({0}, {4}))).code == errc::not_found);
  context small;
  small.limit.memory = 100;
  CHECK(failure_of(m.opened(small).load<tensor>("w", box({0, 0}, {6, 6}))).code ==
        errc::resource_limit);
  CHECK(failure_of(c.load<tensor>("w", box({0, 0}, {1, 4}))).code == errc::corrupt);
}

TEST_CASE("a part is verified, by whole inner chunks") {
  const saved_matrix m;
  const fs::path file = m.dir.path() / "m.zarr/w/c.0.0";
  std::string bytes = test::read_file(file);
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  test::write_file(file, bytes);
  const checkpoint c = m.opened();
  std::vector<float> four(4);
  CHECK(mentions(failure_of(c.load_into("w", box({0, 0}, {1, 4}), four)), "chunk c.0.0"));
  CHECK(failure_of(c.load<tensor>("w", box({0, 0}, {1, 4}))).code == errc::corrupt);
  c.load_into("w", box({0, 0}, {1, 4}), four, {.verify = false}).value();
  CHECK(c.load<tensor>("w", box({599, 0}, {1, 4})));
}

TEST_CASE("what is wrong with a leaf's metadata is said with the place of the leaf") {
  const memory_store store;
  const auto put = [&](const char* key, std::string_view text) {
    store.put(store_key::parse(key).value(), as_bytes(text)).value();
  };
  put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  put("a/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  put("a/w/zarr.json", R"({"zarr_format":3,"node_type":"array"})");
  const checkpoint opened = open(store).value();
  CHECK(mentions(failure_of(opened.load<tensor>("a/w")), "load \"a/w\": array memory:a/w: member"));
  CHECK(mentions(failure_of(opened.metadata("a/w")), "metadata of \"a/w\": "));
  CHECK(mentions(failure_of(opened.view<float>("a/w")), "view \"a/w\": "));
  CHECK(mentions(failure_of(opened.as_array("a/w")), "open \"a/w\": "));
}

TEST_CASE("the attributes of a v2 array are its own; where listing is not cheap, the copies") {
  const memory_store store;
  const auto put = [&](const char* key, std::string_view text) {
    store.put(store_key::parse(key).value(), as_bytes(text)).value();
  };
  const std::string zarray =
      R"({"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"|u1","fill_value":7,"order":"C",)"
      R"("compressor":null,"filters":null})";
  put(".zgroup", R"({"zarr_format":2})");
  put("w/.zarray", zarray);
  put("w/.zattrs", R"({"unit":"m"})");
  const auto unit = [&](const any_store& from) {
    return *open(from).value().as_array("w").value().metadata().attributes.find("unit");
  };
  CHECK(unit(store) == json("m"));
  put(".zmetadata", R"({"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},)"
                    R"("w/.zattrs":{"unit":"s"},"w/.zarray":)" +
                        zarray + "}}");
  CHECK(unit(store) == json("m"));
  CHECK(unit(zarrpoint_test::counting_store(store, false)) == json("s"));
}

TEST_CASE("attributes of leaves and groups are asked for by name") {
  const memory_store store;
  const auto put = [&](const char* key, std::string_view text) {
    store.put(store_key::parse(key).value(), as_bytes(text)).value();
  };
  const std::string group = R"({"zarr_format":3,"node_type":"group","attributes":)";
  const std::string array =
      R"({"zarr_format":3,"node_type":"array","shape":[1],"data_type":"int8","fill_value":0,)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},)"
      R"("chunk_key_encoding":{"name":"default"},"codecs":[{"name":"unknown"}],"attributes":)";
  put("zarr.json", group + R"({"r":0}})");
  put("g/zarr.json", group + R"({"n":1}})");
  put("g/h/zarr.json", group + "{}}");
  put("g/h/w/zarr.json", array + R"({"unit":"m"}})");
  put("g/h/bad/zarr.json", array + "3}");
  put("bad/zarr.json", group + R"("x"})");
  const checkpoint opened = open(store).value();
  CHECK(opened.attributes("").value() == json(json::object{{"r", 0}}));
  CHECK(opened.attributes("g").value() == json(json::object{{"n", 1}}));
  CHECK(opened.attributes("g/h").value().is_null());
  // Though its codec is not known.
  CHECK(opened.attributes("g/h/w").value() == json(json::object{{"unit", "m"}}));
  for (const char* name : {"bad", "g/h/bad"}) {
    const error refused = failure_of(opened.attributes(name));
    CHECK(refused.code == errc::corrupt);
    CHECK(mentions(refused, std::string("attributes of \"") + name));
    CHECK(mentions(refused, "must be an object"));
  }
  for (const char* name : {"x", "g/", "g/h/w/c", "/"}) {
    const error refused = failure_of(opened.attributes(name));
    CHECK(refused.code == errc::not_found);
    CHECK(mentions(refused, "no such leaf or group"));
  }
  const checkpoint single = open({store, store_key::parse("g/h/w").value()}).value();
  CHECK(single.attributes("").value() == json(json::object{{"unit", "m"}}));
}

TEST_CASE("the memory budget of the caller holds") {
  const saved_matrix m({.rules = {{.codecs = zstd_codecs(1)}}});
  context how;
  how.limit.memory = 1 << 20;
  const error failure = failure_of(m.opened(how).load<tensor>("w"));
  CHECK(failure.code == errc::resource_limit);
  CHECK(mentions(failure, "w"));
  CHECK(m.opened(how).load<std::int64_t>("step").value() == 1200);
  how.limit.metadata_bytes = 10;
  CHECK(failure_of(open(m.path, how)).code == errc::resource_limit);
}

TEST_CASE("hierarchies without a commit document open, consolidated or not") {
  const saved_matrix m(
      {.rules = {{.codecs = zstd_codecs(1)}}, .attributes = json::object{{"author", "me"}}});
  CHECK(*m.opened().attributes().find("author") == json("me"));
  CHECK(m.opened().attributes().find("zarrpoint") == nullptr);
  const fs::path file = m.dir.path() / "m.zarr/zarr.json";
  json root = parse_json(as_bytes(test::read_file(file))).value();
  root.set("attributes", json::object{{"author", "me"}});
  test::write_file(file, dump_json(root));
  const auto check = [&] {
    const checkpoint opened = m.opened();
    CHECK(opened.id().empty());
    CHECK(opened.names() == std::vector<std::string>{"note", "step", "w"});
    const tensor loaded = opened.load<tensor>("w").value();
    CHECK(std::equal(loaded.data<float>().begin(), loaded.data<float>().end(),
                     m.values.data<float>().begin()));
    CHECK_FALSE(opened.metadata("w").value().stored_bytes.has_value());
  };
  REQUIRE(root.find("consolidated_metadata") != nullptr);
  check();
  test::write_file(file, dump_json(json::object{{"zarr_format", 3}, {"node_type", "group"}}));
  check();
  // A single array is a checkpoint of one leaf, which has no name.
  CHECK(open((m.dir.path() / "m.zarr/step").string()).value().load<std::int64_t>("").value() ==
        1200);
}

TEST_CASE("records and bytes of any length are leaves as others; records are not consolidated") {
  const dtype pair = make_record({{"id", dtype_kind::uint16}, {"at", dtype_kind::float32}}).value();
  tensor rows = tensor::make({pair, {3}}).value();
  std::memset(rows.mutable_view().data, 1, 3 * pair.size());
  tensor blobs = tensor::make({dtype_kind::bytes, {2}}).value();
  blobs.data<std::string>()[1] = "\xff";
  for (const int format : {2, 3}) {
    CAPTURE(format);
    const memory_store store;
    save(store, {{"blobs", blobs}}, {.zarr_format = format}).value();
    CHECK(open(store).value().load<tensor>("blobs").value().data<std::string>()[1] == "\xff");
    const std::string name = format == 3 ? "zarr.json" : ".zmetadata";
    const store_key root_document = store_key::parse(name).value();
    const auto is_consolidated = [&] {
      const auto text = get(store, root_document, 1 << 20).value();
      return text && as_text(bytes_view(*text)).find("consolidated") != std::string_view::npos;
    };
    CHECK(is_consolidated());
    save(store, {{"rows", rows}}, {.zarr_format = format}).value();
    CHECK_FALSE(is_consolidated());
    const tensor loaded = open(store).value().load<tensor>("rows").value();
    CHECK(loaded.type() == pair);
    CHECK(std::memcmp(loaded.view().data, rows.view().data, 3 * pair.size()) == 0);
  }
}

TEST_CASE("absent chunks of foreign checkpoints read as zero, unless that is forbidden") {
  const saved_matrix m;
  test::write_file(m.dir.path() / "m.zarr/zarr.json",
                   dump_json(json::object{{"zarr_format", 3}, {"node_type", "group"}}));
  fs::remove_all(m.dir.path() / "m.zarr/step/c");
  CHECK(m.opened().load<std::int64_t>("step").value() == 0);
  const error failure =
      failure_of(m.opened().load<std::int64_t>("step", {.allow_missing_chunks = false}));
  CHECK(failure.code == errc::not_found);
}

TEST_CASE("what is not a hierarchy is not found, and says so") {
  const test::temp_directory dir;
  CHECK(failure_of(open(dir / "nowhere")).code == errc::not_found);
  CHECK(mentions(failure_of(open(dir.path().string())), "no zarr.json, .zgroup or .zarray"));
}

TEST_CASE("leaf names in a commit document cannot leave the checkpoint") {
  const saved_matrix m;
  detail::commit_document document{.id = "x", .leaves{}};
  for (const char* name : {"../secret", "/etc/passwd", "a/../../b", ".."}) {
    leaf_record leaf;
    leaf.name = name;
    leaf.metadata = json::object{{"zarr_format", 3}};
    document.leaves = {leaf};
    json root = json::object{{"zarr_format", 3}, {"node_type", "group"}};
    root.set("attributes", json::object{{"zarrpoint", commit_node::to_json(document)}});
    test::write_file(m.dir.path() / "m.zarr/zarr.json", dump_json(root));
    CHECK(failure_of(open(m.path)).code == errc::corrupt);
  }
}

TEST_CASE("symbolic links are not followed") {
  const saved_matrix m;
  const fs::path file = m.dir.path() / "m.zarr/step/c";
  fs::rename(file, m.dir.path() / "elsewhere");
  fs::create_symlink(m.dir.path() / "elsewhere", file);
  const error failure = failure_of(m.opened().load<std::int64_t>("step"));
  CHECK(mentions(failure, "symbolic link"));
}

}  // namespace checkpoint_test
