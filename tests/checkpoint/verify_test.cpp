// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/exec/stop.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "../support/counting_store.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace verify_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

codec_spec little() { return {"bytes", json::object{{"endian", "little"}}}; }

/// 64 by 96 floats in four inner chunks by two, some small leaves.
struct model {
  test::temp_directory dir;
  std::string path = dir / "m.zarr";

  explicit model(std::vector<codec_spec> codecs = raw_codecs()) {
    const tensor w = tensor::make({dtype_kind::float32, {64, 96}}).value();
    std::vector<float> values(64 * 96);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const host_view view = dense_view(reinterpret_cast<const std::byte*>(values.data()), w.spec());
    save_options options;
    options.rules.push_back({.glob = "a/w", .chunk_shape = dims{16, 48}, .codecs = codecs});
    save(path, {{"a/w", view}, {"a/b", std::vector<int>(50, 3)}, {"step", 7}, {"note", "x"}},
         options)
        .value();
  }

  verify_report report(const context& how = default_context()) const {
    return verify(open(path, how).value()).value();
  }
  void flip(const std::string& file, std::size_t at) const {
    std::string bytes = test::read_file(fs::path(path) / file);
    bytes.at(at) = static_cast<char>(bytes[at] ^ 0x10);
    test::write_file(fs::path(path) / file, bytes);
  }
};

std::vector<verdict> verdicts(const verify_report& report) {
  std::vector<verdict> out;
  for (const leaf_verification& leaf : report.leaves) out.push_back(leaf.result);
  return out;
}

void put(memory_store& store, const std::string& key, std::string_view bytes) {
  store.put(store_key::parse(key).value(), as_bytes(bytes)).value();
}

/// The document of an array of bytes, each a chunk of its own with a checksum.
std::string array_of(const dims& shape, bool is_v2_key = false) {
  std::string lengths, ones;
  for (const index_t length : shape) {
    lengths += (lengths.empty() ? "" : ",") + std::to_string(length);
    ones += ones.empty() ? "1" : ",1";
  }
  return R"({"zarr_format":3,"node_type":"array","data_type":"int8","shape":[)" + lengths +
         R"(],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[)" + ones +
         R"(]}},"chunk_key_encoding":{"name":")" + (is_v2_key ? "v2" : "default") +
         R"("},"fill_value":0,"codecs":[{"name":"bytes"},{"name":"crc32c"}]})";
}

/// A chunk of it.
std::string sealed(std::string text) {
  std::byte sum[4];
  store_le<std::uint32_t>(sum, crc32c(as_bytes(std::string_view(text))));
  return text + std::string(as_text(sum));
}

/// A store of others' objects that has no list of them.
struct unlisted {
  memory_store base;

  result<std::unique_ptr<blob>> open(const store_key& key) const { return base.open(key); }
  std::string describe(const store_key& key) const { return base.describe(key); }
};

/// Asks for a stop as a chunk is opened for the n-th time.
struct stopping {
  memory_store base;
  stop_source* stop;
  std::shared_ptr<std::atomic<int>> left;

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    if (key.str().starts_with("c/") && --*left == 0) stop->request_stop();
    return base.open(key);
  }
  std::string describe(const store_key& key) const { return base.describe(key); }
};

constexpr auto ok = verdict::ok;
constexpr auto bad = verdict::faulty;
constexpr auto unknown = verdict::not_verified;

}  // namespace

TEST_CASE("verify: what is whole is ok, with the number of chunks and bytes") {
  for (const auto& codecs : {raw_codecs(), std::vector<codec_spec>{little(), {"zstd"}}}) {
    const verify_report report = model(codecs).report();
    CHECK(report.result() == ok);
    CHECK(report.failures.empty());
    REQUIRE(report.leaves.size() == 4);
    CHECK(report.leaves[0].name == "a/b");
    CHECK(report.leaves[1].name == "a/w");
    CHECK(report.leaves[1].chunks == 8);
    CHECK(report.leaves[1].bytes == 64 * 96 * 4);
    CHECK(report.leaves[0].bytes == 200);
    CHECK(verdicts(report) == std::vector(4, ok));
  }
  CHECK(to_string(ok) == "ok");
  CHECK(to_string(unknown) == "not verified");
  CHECK(to_string(bad) == "faulty");
}

TEST_CASE("verify: each damaged chunk of a shard is named by file, key and chunk") {
  const model m;
  for (const std::size_t chunk : {1U, 4U}) m.flip("a/w/c.0.0", chunk * 16 * 48 * 4 + 5);
  const verify_report report = m.report();
  CHECK(report.result() == bad);
  CHECK(verdicts(report) == std::vector{ok, bad, ok, ok});
  CHECK(report.leaves[1].chunks == 6);
  CHECK(report.leaves[1].bytes == 6 * 16 * 48 * 4);
  REQUIRE(report.failures.size() == 2);
  CHECK(report.failures[0].chunk == dims{0, 1});
  CHECK(report.failures[1].chunk == dims{2, 0});
  for (const verify_failure& each : report.failures) {
    CHECK(each.leaf == "a/w");
    CHECK(each.key == "c.0.0");
    CHECK(fs::path(each.file) == fs::path(m.path) / "a/w/c.0.0");
    CHECK(each.is_fault);
    CHECK(each.what.code == errc::corrupt);
    CHECK(each.what.message.find("stored bytes do not match their checksum") != std::string::npos);
  }
}

TEST_CASE("verify: damage in shards that the array does not fill") {
  const test::temp_directory dir;
  const std::vector<float> values(60 * 90, 1.5F);
  const host_view view = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                    {dtype_kind::float32, {60, 90}});
  save_options options;
  options.rules.push_back(
      {.chunk_shape = dims{16, 48}, .shard_shape = dims{32, 96}, .codecs = raw_codecs()});
  save(dir / "m", {{"w", view}}, options).value();
  // The second chunk of the second shard: 16 rows, and 42 of its 48 columns.
  const fs::path file = fs::path(dir / "m") / "w/c/1/0";
  std::string bytes = test::read_file(file);
  bytes.at(16 * 48 * 4 + 5) = static_cast<char>(bytes[16 * 48 * 4 + 5] ^ 1);
  test::write_file(file, bytes);
  const verify_report report = verify(open(dir / "m").value()).value();
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures[0].key == "c/1/0");
  CHECK(report.failures[0].chunk == dims{0, 1});
  CHECK(report.leaves[0].chunks == 7);
  CHECK(report.leaves[0].bytes == (60 * 90 - 16 * 42) * 4);
}

TEST_CASE("verify: the object of many damaged chunks is asked for once") {
  const model m;
  const auto opens = [&] {
    const zarrpoint_test::counting_store counted(file_store::open(m.path).value(), true);
    const checkpoint opened = open(counted).value();
    counted->clear();
    const verify_report report = verify(opened).value();
    return std::pair(report.failures.size(), counted->opens.load());
  };
  m.flip("a/w/c.0.0", 5);
  const auto one = opens();
  for (const std::size_t chunk : {1U, 2U, 3U, 4U, 5U}) m.flip("a/w/c.0.0", chunk * 16 * 48 * 4 + 5);
  const auto six = opens();
  CHECK(one.first == 1);
  CHECK(six.first == 6);
  CHECK(one.second == six.second);
}

TEST_CASE("verify: a missing object, a cut one and a broken index are told once each") {
  const model m;
  m.flip("a/w/c.0.0", fs::file_size(fs::path(m.path) / "a/w/c.0.0") - 3);
  fs::remove(fs::path(m.path) / "step/c");
  fs::resize_file(fs::path(m.path) / "a/b/c.0", 99);
  const verify_report report = m.report();
  CHECK(verdicts(report) == std::vector{bad, bad, ok, bad});
  CHECK(report.failure_count == 3);
  REQUIRE(report.failures.size() == 3);
  for (const verify_failure& each : report.failures) CHECK(!each.chunk);
  CHECK(report.failures[0].what.message.find("99 bytes") != std::string::npos);
  CHECK(report.failures[1].what.message.find("index") != std::string::npos);
  CHECK(report.failures[2].what.message.find("missing") != std::string::npos);
  CHECK(report.failures[2].key == "c");
  CHECK(report.leaves[1].chunks == 0);

  const verify_report few = verify(open(m.path).value(), {.max_failures = 1}).value();
  CHECK(few.failures.size() == 1);
  CHECK(few.failure_count == 3);
}

TEST_CASE("verify: hierarchies of others, of which what is not stored is not verified") {
  memory_store store;
  const auto make = [&](const char* name, std::vector<codec_spec> codecs) {
    array_metadata metadata;
    metadata.type = dtype_kind::int32;
    metadata.shape = {7, 5};
    metadata.chunk_shape = {4, 2};
    metadata.fill = fill_value::zero(metadata.type);
    metadata.codecs = std::move(codecs);
    return array::create(store, store_key::parse(name).value(), metadata).value();
  };
  const std::string group = R"({"zarr_format":3,"node_type":"group"})";
  store.put(store_key::parse("zarr.json").value(), as_bytes(group)).value();
  CHECK(verify(open(store).value()).value().result() == unknown);  // there is nothing in it

  const std::vector<int> ones(35, 1);
  const auto view =
      dense_view(reinterpret_cast<const std::byte*>(ones.data()), {dtype_kind::int32, {7, 5}});
  make("full", {little(), {"crc32c"}}).write(box::whole({7, 5}), view).value();
  const array part = make("part", {little(), {"crc32c"}});
  part.write(box({4, 2}, {3, 2}), dense_view(view.data, {dtype_kind::int32, {3, 2}})).value();
  make("none", {little()});
  {
    const verify_report report = verify(open(store).value()).value();
    CHECK(report.result() == unknown);
    CHECK(verdicts(report) == std::vector{ok, unknown, ok});
    CHECK(report.leaves[0].chunks == 6);
    CHECK(report.leaves[2].chunks == 1);
    REQUIRE(report.failures.size() == 1);
    CHECK(!report.failures[0].is_fault);
    CHECK(report.failures[0].leaf == "none");
    CHECK(report.failures[0].what.message.find(
              "it has no stored chunk, so nothing could be checked") != std::string::npos);
  }
  // The chunk is that of the key, in the last row and the second column.
  std::vector<std::byte> bytes(36, std::byte{1});
  store.put(store_key::parse("part/c/1/1").value(), bytes).value();
  const std::string odd = R"({"zarr_format":3,"node_type":"array","shape":[1],)"
                          R"("data_type":"int8","chunk_grid":{"name":"regular","configuration":)"
                          R"({"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},)"
                          R"("fill_value":0,"codecs":[{"name":"example.odd"}]})";
  store.put(store_key::parse("odd/zarr.json").value(), as_bytes(odd)).value();
  const verify_report report = verify(open(store).value()).value();
  CHECK(report.result() == bad);
  CHECK(verdicts(report) == std::vector{ok, unknown, unknown, bad});
  REQUIRE(report.failures.size() == 3);
  CHECK(report.failures[1].what.message.find("example.odd") != std::string::npos);
  CHECK(!report.failures[1].is_fault);
  CHECK(report.failures[2].key == "c/1/1");
  CHECK(report.failures[2].what.message.find("crc32c") != std::string::npos);
  const verify_report two = verify(open(store).value(), {.max_failures = 2}).value();
  CHECK(two.failure_count == 3);
  REQUIRE(two.failures.size() == 2);
  CHECK(two.failures[1].leaf == "odd");
}

TEST_CASE("verify: within a small budget, and what does not fit is not verified") {
  const model m;
  context how = default_context();
  how.limit.memory = 16 * 1024;  // an inner chunk takes 3 KiB
  CHECK(m.report(how).leaves[1].chunks == 8);
  CHECK(m.report(how).result() == ok);
  m.flip("a/w/c.0.0", 5);
  REQUIRE(m.report(how).failures.size() == 1);
  CHECK(m.report(how).failures[0].chunk == dims{0, 0});
  how.limit.memory = 2 * 1024;
  const verify_report report = m.report(how);
  CHECK(report.leaves[1].result == unknown);
  REQUIRE(!report.failures.empty());
  CHECK(report.failures[0].what.code == errc::resource_limit);
  // Read in four parts, of which each needs the same index.
  how.limit.memory = 16 * 1024;
  m.flip("a/w/c.0.0", fs::file_size(fs::path(m.path) / "a/w/c.0.0") - 3);
  CHECK(m.report(how).failure_count == 1);
}

TEST_CASE("verify: it stops when it is told to") {
  const model m;
  stop_source stop;
  context how = default_context();
  how.stop = stop.token();
  const checkpoint opened = open(m.path, how).value();
  stop.request_stop();
  const auto stopped = verify(opened);
  REQUIRE(!stopped);
  CHECK(stopped.failure().code == errc::cancelled);
}

TEST_CASE("verify: it stops in the middle of an object, damaged or not") {
  array_metadata metadata{.shape = {4, 4}, .type = dtype_kind::int8, .chunk_shape = {4, 4}};
  metadata.fill = fill_value::zero(metadata.type);
  for (const bool sharded : {false, true}) {
    memory_store base;
    metadata.codecs = {{"bytes"}, {"crc32c"}};
    if (sharded)
      metadata.codecs = {sharding_config{.chunk_shape = {2, 2}, .codecs = {{"bytes"}, {"crc32c"}}}
                             .to_spec()
                             .value()};
    const std::vector<std::int8_t> values(16, 7);
    array::create(base, store_key::root(), metadata)
        .value()
        .write(box::whole({4, 4}), dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                              {dtype_kind::int8, {4, 4}}))
        .value();
    for (const bool damaged : {false, true}) {
      const store_key chunk = store_key::parse("c/0/0").value();
      if (damaged) {
        std::vector<std::byte> bytes = *get(base, chunk, 1 << 20).value();
        bytes[0] ^= std::byte{1};
        base.put(chunk, bytes).value();
      }
      CAPTURE(sharded);
      CAPTURE(damaged);
      // The chunk is opened to see whether it is there, and to be read, as often as it takes.
      int stopped = 0;
      for (int at = 1;; ++at) {
        CAPTURE(at);
        stop_source stop;
        context how;
        how.stop = stop.token();
        const stopping store{base, &stop, std::make_shared<std::atomic<int>>(at)};
        const auto done = verify(open(any_store(store), how).value());
        if (done) {  // unnoticed: it is never told as damage
          CHECK(done->result() == (damaged ? bad : ok));
          for (const verify_failure& one : done->failures) CHECK(one.what.code == errc::corrupt);
          if (store.left->load() > 0) break;
        } else {
          CHECK(done.failure().code == errc::cancelled);
          ++stopped;
        }
      }
      CHECK(stopped > 0);
      // After the first of its chunks.
      stop_source stop;
      context how;
      how.stop = stop.token();
      how.progress = [&](const progress_event&) { stop.request_stop(); };
      const auto done = verify(open(any_store(base), how).value());
      if (sharded) REQUIRE_FALSE(done);
      if (!done) CHECK(done.failure().code == errc::cancelled);
    }
  }
}

TEST_CASE("verify: it stops before an array that cannot be read") {
  memory_store store;
  std::string odd = array_of({1});
  odd.replace(odd.find("crc32c"), 6, "example.odd");
  put(store, "zarr.json", odd);
  stop_source stop;
  context how;
  how.stop = stop.token();
  const checkpoint opened = open(store, how).value();
  CHECK(verify(opened).value().result() == unknown);
  stop.request_stop();
  CHECK(verify(opened).failure().code == errc::cancelled);
}

TEST_CASE("verify: it stops between the objects of an array") {
  memory_store store;
  put(store, "zarr.json", array_of({4}));
  for (const char* key : {"c.0", "c/1", "c/2"}) put(store, key, sealed("x"));
  for (const bool beforehand : {true, false}) {
    CAPTURE(beforehand);
    stop_source stop;
    context how;
    how.stop = stop.token();
    how.progress = [&](const progress_event&) { stop.request_stop(); };
    if (beforehand) stop.request_stop();
    const auto stopped = verify(open(store, how).value());
    REQUIRE(!stopped);
    CHECK(stopped.failure().code == errc::cancelled);
  }
}

TEST_CASE("verify: of more objects than anyone can walk those that are stored") {
  const index_t last = (index_t{1} << 40) - 1;
  const std::string far = std::to_string(last);
  for (const bool is_v2 : {false, true}) {
    CAPTURE(is_v2);
    memory_store store;
    put(store, "zarr.json", array_of({last + 1, last + 1}, is_v2));
    const auto key = [&](const std::string& a, const std::string& b) {
      return is_v2 ? a + "." + b : "c/" + a + "/" + b;
    };
    put(store, key("0", "0"), sealed("x"));
    put(store, key("5", far), sealed("y"));
    put(store, key(far, far), sealed("z"));
    put(store, key("10", "0"), "wrong");
    put(store, key("9", "20"), "wrong");
    put(store, key("9", "3"), "wrong");
    // These are not its chunks.
    for (const std::string& stray :
         {key("00", "1"), key(std::to_string(last + 1), "0"), key("x", "0"), key("1", "2") + "/3",
          key("1", "2") + ".3", std::string("readme"), std::string("d/0/0")})
      put(store, stray, "stray");
    const verify_report report = verify(open(store).value()).value();
    REQUIRE(report.leaves.size() == 1);
    CHECK(report.leaves[0].chunks == 3);
    CHECK(report.leaves[0].bytes == 3);
    CHECK(report.result() == bad);
    REQUIRE(report.failures.size() == 3);
    CHECK(report.failures[0].key == key("9", "3"));
    CHECK(report.failures[1].key == key("9", "20"));
    CHECK(report.failures[2].key == key("10", "0"));
  }
}

TEST_CASE("verify: a store that cannot list is asked for each object, if they are not too many") {
  for (const index_t length : {index_t{1} << 10, (index_t{1} << 20) + 1}) {
    CAPTURE(length);
    unlisted store;
    put(store.base, "zarr.json", array_of({length}));
    put(store.base, "c/3", sealed("x"));
    put(store.base, "c/7", "wrong");
    const verify_report report = verify(open(any_store(store)).value()).value();
    REQUIRE(report.failures.size() == 1);
    if (length <= 1 << 20) {
      CHECK(report.leaves[0].chunks == 1);
      CHECK(report.failures[0].key == "c/7");
    } else {
      CHECK(report.result() == unknown);
      CHECK(report.failures[0].what.code == errc::unsupported);
      CHECK(report.failures[0].what.message ==
            "its store cannot list, and may hold 1048577 objects, more than the 1048576 that are "
            "asked for one by one");
    }
  }
}

TEST_CASE("verify: a sealed commit of more objects than it names is refused at once") {
  // More than anybody can ask for, and few.
  for (const std::int64_t objects : {std::int64_t{1} << 40, std::int64_t{3}}) {
    memory_store store;
    save(store, {{"w", std::vector<std::int8_t>{1}}}).value();
    const store_key root_key = store_key::parse("zarr.json").value();
    json root = parse_json(*get(store, root_key, 1 << 20).value()).value();
    json* const commit = root.find("attributes")->find("zarrpoint");
    json& leaf = commit->find("leaves")->if_array()->front();
    json* const metadata = leaf.find("metadata");
    metadata->set("shape", json::array{objects});
    metadata->find("chunk_grid")->find("configuration")->set("chunk_shape", json::array{1});
    metadata->set("codecs", json::array{json::object{{"name", "bytes"}}});
    leaf.set("objects", json::object{});
    std::erase_if(*commit->if_object(), [](const json::member& m) { return m.key == "crc32c"; });
    commit->set("crc32c", detail::commit_seal(*commit));
    store.put(root_key, as_bytes(dump_json(root))).value();
    const verify_report report = verify(open(store).value()).value();
    CHECK(report.documents == bad);  // the others were left as they were
    REQUIRE_FALSE(report.failures.empty());
    CHECK(report.failures.back().what.code == errc::corrupt);
    CHECK(report.failures.back().what.message ==
          "the commit names fewer objects than the array has");
  }
}

TEST_CASE("verify: an array without an element that is stopped") {
  const std::string none = R"({"zarr_format":3,"node_type":"array","shape":[0],)"
                           R"("data_type":"int8","chunk_grid":{"name":"regular","configuration":)"
                           R"({"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},)"
                           R"("fill_value":0,"codecs":[{"name":"bytes"}]})";
  memory_store store;
  store.put(store_key::parse("zarr.json").value(), as_bytes(none)).value();
  stop_source stop;
  context how;
  how.stop = stop.token();
  const checkpoint opened = open(store, how).value();
  stop.request_stop();
  CHECK(verify(opened).failure().code == errc::cancelled);
}

}  // namespace verify_test
