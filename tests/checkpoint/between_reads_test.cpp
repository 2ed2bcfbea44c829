// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/verify/seal.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>

#include "../support/hooked_reads.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// A save, or somebody who removes or exchanges files, comes between two reads of one reader.

namespace between_reads_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

/// Six leaves below `prefix`, all of whose elements are `n`.
std::string save_number(const std::string& path, int n, int zarr_format,
                        const std::string& prefix = "layer") {
  const std::vector<float> values(300, static_cast<float>(n));
  std::vector<leaf> leaves;
  for (int i = 0; i < 6; ++i) leaves.emplace_back(prefix + "/" + std::to_string(i), values);
  save_options options{.zarr_format = zarr_format, .sync = false};
  options.attributes = json::object{{"n", n}};
  return save(path, leaves, options).value().id;
}

/// A directory whose entry `m` is looked at by way of it.
struct watched {
  test::temp_directory dir;
  std::string path = dir / "m";
  test::hooked_reads store{file_store::open(dir.path().string()).value()};

  location at() const { return {store, store_key::parse("m").value()}; }
  void before(const std::string& key, std::function<void()> happens) const {
    store.state->before["m/" + key] = std::move(happens);
  }
  bool has_happened() const { return store.state->before.empty(); }
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// How often a failure of the report has this text, of the root's document alone.
std::ptrdiff_t said_of_root(const verify_report& report, std::string_view text) {
  return std::count_if(report.failures.begin(), report.failures.end(), [&](const auto& one) {
    return one.leaf.empty() && one.is_fault && has(one.what.message, text);
  });
}

}  // namespace

TEST_CASE("between reads: `open` of v2 does not take documents of two saves for edited ones") {
  const watched place;
  save_number(place.path, 1, 2);
  std::string id;
  place.before(".zgroup", [&] { id = save_number(place.path, 2, 2); });
  const checkpoint opened = open(place.at()).value();
  CHECK(place.has_happened());
  CHECK(opened.id() == id);
  CHECK(opened.warnings().empty());
  CHECK(opened.load<std::vector<float>>("layer/5").value() == std::vector<float>(300, 2));

  // What was edited indeed is looked at once, and warned of.
  test::write_file(fs::path(place.path) / ".zgroup", R"({"zarr_format":2,"zarrpoint":"other"})");
  place.store.state->opens.clear();
  CHECK(open(place.at())->warnings().size() == 1);
  CHECK(place.store.state->opens["m/.zgroup"] == 1);
}

TEST_CASE("between reads: opens of what has another format since find it") {
  for (const auto& [from, to, key] :
       {std::tuple{2, 3, ".zarray"}, {2, 3, ".zattrs"}, {2, 3, ".zgroup"}}) {
    CAPTURE(key);
    const watched place;
    save_number(place.path, 1, from);
    std::string id;
    place.before(key, [&] { id = save_number(place.path, 2, to); });
    CHECK(open(place.at()).value().id() == id);
    CHECK(place.has_happened());
  }
  const watched place;
  save_number(place.path, 1, 2);
  place.before("layer/3/.zarray", [&] { save_number(place.path, 2, 3); });
  const auto one = array::open(place.store, store_key::parse("m/layer/3").value());
  REQUIRE(one);
  CHECK(one->metadata().zarr_format == 3);
  CHECK(place.has_happened());
  const store_key at = store_key::parse("m").value();
  save_number(place.path, 3, 2);
  place.before(".zgroup", [&] { save_number(place.path, 4, 3); });
  const auto all = group::open(place.store, at);
  REQUIRE(all);
  CHECK(all->zarr_format() == 3);
  CHECK(all->attributes().find("n") != nullptr);
  CHECK(*all->attributes().find("n") == json(4));
  CHECK(place.has_happened());

  fs::remove_all(place.path);
  CHECK(array::open(place.store, at).failure().code == errc::not_found);
  CHECK(group::open(place.store, at).failure().code == errc::not_found);
}

TEST_CASE("between reads: what is damaged is looked at once") {
  const watched place;
  fs::create_directory(place.path);
  test::write_file(fs::path(place.path) / "zarr.json", "{");
  const store_key at = store_key::parse("m").value();
  CHECK(open(place.at()).failure().code == errc::corrupt);
  CHECK(place.store.state->opens["m/zarr.json"] == 1);
  CHECK(array::open(place.store, at).failure().code == errc::corrupt);
  CHECK(group::open(place.store, at).failure().code == errc::corrupt);
  CHECK(place.store.state->opens["m/zarr.json"] == 3);
}

TEST_CASE("between reads: `verify` of what is replaced meanwhile says so, and what was gone") {
  for (const int zarr_format : {3, 2}) {
    const watched place;
    const std::string old = save_number(place.path, 1, zarr_format);
    const checkpoint opened = open(place.at()).value();
    const std::string chunk = zarr_format == 3 ? "c.0" : "0";
    std::string id;
    place.before("layer/2/" + chunk,
                 [&] { id = save_number(place.path, 2, zarr_format, "other"); });
    const error failure = verify(opened).failure();
    CAPTURE(failure.message);
    CHECK(place.has_happened());
    CHECK(failure.code == errc::replaced);
    CHECK(has(failure.message, place.path + "/layer/2: chunk " + chunk + ": it is missing"));
    CHECK(has(failure.message, "(and 3 more failures)"));
    CHECK(has(failure.message, "a save has replaced checkpoint " + old + " by " + id));
  }
}

TEST_CASE("between reads: `verify` asks once whether it was replaced, however much is gone") {
  int asked[2] = {};
  for (const int gone : {1, 5}) {
    const watched place;
    save_number(place.path, 1, 3);
    const checkpoint opened = open(place.at()).value();
    for (int i = 0; i < gone; ++i)
      fs::remove(fs::path(place.path) / ("layer/" + std::to_string(i) + "/c.0"));
    place.store.state->opens.clear();
    const verify_report report = verify(opened).value();
    asked[gone / 5] = place.store.state->opens["m/zarr.json"];
    CHECK(report.result() == verdict::faulty);
    CHECK(report.documents == verdict::ok);
    REQUIRE(report.failures.size() == static_cast<std::size_t>(gone));
    for (int i = 0; i < gone; ++i) {
      const verify_failure& one = report.failures[static_cast<std::size_t>(i)];
      CHECK(one.leaf == "layer/" + std::to_string(i));
      CHECK(one.key == "c.0");
      CHECK(has(one.what.message, "it is missing"));
    }
  }
  CHECK(asked[0] == asked[1]);
}

TEST_CASE("between reads: `verify` names a chunk of others that is gone when it is read") {
  for (const bool sharded : {false, true}) {
    CAPTURE(sharded);
    const watched place;
    array_metadata metadata{.shape = {8}, .type = dtype_kind::int32, .chunk_shape = {4}};
    metadata.fill = fill_value::zero(metadata.type);
    metadata.codecs = raw_codecs();
    if (sharded)
      metadata.codecs = {
          sharding_config{.chunk_shape = {2}, .codecs = raw_codecs()}.to_spec().value()};
    const store_key key = store_key::parse("m/a").value();
    const auto target = array::create(place.store.inner, key, metadata).value();
    const std::vector<std::int32_t> values(8, 7);
    target
        .write(box::whole({8}), dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                           {dtype_kind::int32, {8}}))
        .value();
    const checkpoint opened = open({place.store, key}).value();
    CHECK(verify(opened).value().result() == verdict::ok);
    place.before("a/c/1", [&] { fs::remove(fs::path(place.path) / "a/c/1"); });
    const verify_report report = verify(opened).value();
    CHECK(place.has_happened());
    CHECK(report.result() == verdict::faulty);
    REQUIRE(report.failures.size() == 1);
    CHECK(report.failures[0].key == "c/1");
    CHECK(has(report.failures[0].what.message, "it was removed while it was read"));
    CHECK(report.leaves[0].chunks == (sharded ? 2 : 1));
    CHECK(report.leaves[0].bytes == 4 * 4);
  }
}

TEST_CASE("between reads: the root's document of another checkpoint is damage with a name") {
  for (const int zarr_format : {3, 2}) {
    const test::temp_directory dir;
    save_number(dir / "a", 1, zarr_format);
    save_number(dir / "b", 2, zarr_format);
    CHECK(verify(open(dir / "b").value()).value().result() == verdict::ok);
    const char* const name = zarr_format == 3 ? "zarr.json" : ".zattrs";
    fs::copy_file(fs::path(dir / "a") / name, fs::path(dir / "b") / name,
                  fs::copy_options::overwrite_existing);
    const verify_report report = verify(open(dir / "b").value()).value();
    CHECK(report.result() == verdict::faulty);
    CHECK(report.documents == verdict::faulty);
    CHECK(said_of_root(report,
                       "6 leaves have other chunks than it names, 0 have those: it may be "
                       "the document of another checkpoint") == 1);
    CHECK(said_of_root(report, "it tells of another commit document than that of .zattrs") ==
          (zarr_format == 2 ? 1 : 0));
    CHECK(fs::path(report.failures.back().file) == fs::path(dir / "b") / name);
    // The last of all failures, and the first: each is told if there is room for it.
    const auto told = [&](std::uint64_t most) {
      return verify(open(dir / "b").value(), {.max_failures = most}).value().failures.size();
    };
    CHECK(told(report.failure_count) == report.failure_count);
    CHECK(told(report.failure_count - 1) == report.failure_count - 1);
    CHECK(told(1) == 1);
    const char* const chunk = zarr_format == 3 ? "layer/0/c.0" : "layer/0/0";
    fs::copy_file(fs::path(dir / "a") / chunk, fs::path(dir / "b") / chunk,
                  fs::copy_options::overwrite_existing);
    CHECK(said_of_root(verify(open(dir / "b").value()).value(),
                       "5 leaves have other chunks than it names, 1 have those") == 1);
    if (zarr_format == 2) CHECK(seal(dir / "b").failure().code == errc::corrupt);
    CHECK(open(dir / "b")->load<std::vector<float>>("layer/1").failure().code == errc::corrupt);
  }
}

TEST_CASE("between reads: one damaged chunk is not another checkpoint") {
  const test::temp_directory dir;
  save_number(dir / "a", 1, 3);
  fs::resize_file(fs::path(dir / "a") / "layer/0/c.0", 5);
  const verify_report report = verify(open(dir / "a").value()).value();
  CHECK(report.result() == verdict::faulty);
  CHECK(report.documents == verdict::ok);
  CHECK(report.failures.size() == 1);
}

TEST_CASE("between reads: a load of several leaves lists those that are missing") {
  const test::temp_directory dir;
  save_number(dir / "a", 1, 3);
  const checkpoint from = open(dir / "a").value();
  std::vector<float> a(300), b(300), c(300);
  const error both = load_into_all(from, {{"layer/7", a}, {"layer/1", b}, {"x", c}}).failure();
  CHECK(both.code == errc::not_found);
  CHECK(has(both.message, R"(2 of the 3 leaves are missing: "layer/7", "x")"));
  const error one = load_into_all(from, {{"layer/7", a}, {"layer/1", b}}).failure();
  CHECK(has(one.message, R"("layer/7")"));
  CHECK_FALSE(has(one.message, "are missing"));
}

}  // namespace between_reads_test
