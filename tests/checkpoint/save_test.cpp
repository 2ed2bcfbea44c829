// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/core/types/complex.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "../support/executors.hpp"
#include "../support/random_layout.hpp"
#include "../support/recording_store.hpp"
#include "../support/temp_directory.hpp"
#include "../support/toy_store.hpp"

#include <doctest/doctest.h>

#include <sys/mount.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>
#include <vector>

namespace save_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::names_in;

namespace {

std::vector<float> ramp(std::size_t n) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), 0.0F);
  return out;
}

tensor random_tensor(const tensor_spec& spec, unsigned seed) {
  tensor out = tensor::make(spec).value();
  const std::size_t bytes = byte_count(spec).value();
  std::byte* data = out.mutable_view().data;
  zarrpoint_test::fill_random(data, bytes, seed);
  // What a reader gives: a bool is 0 or 1, bits that hold nothing are 0.
  if (spec.type == dtype_kind::bool_ || spec.type.is_below_byte()) {
    for (std::size_t i = 0; i < bytes; ++i)
      data[i] &= static_cast<std::byte>((1U << spec.type.bits()) - 1);
  }
  return out;
}

bool same_bytes(const tensor& a, const tensor& b) {
  const std::size_t bytes = byte_count(a.spec()).value();
  return a.spec() == b.spec() &&
         (bytes == 0 || std::memcmp(a.view().data, b.view().data, bytes) == 0);
}

}  // namespace

TEST_CASE("every dtype comes back bit for bit, raw and zstd, v2 and v3, in threads and inline") {
  const test::temp_directory dir;
  thread_pool pool(3);
  unsigned seed = 0;
  std::vector<tensor> values;
  std::vector<leaf> leaves;
  for (const dtype_kind kind : all_dtype_kinds) {
    if (dtype(kind).is_variable()) continue;
    for (const dims& shape :
         {dims{}, dims{0}, dims{3, 0, 2}, dims{7}, dims{5, 4, 3}, dims{700, 611}}) {
      values.push_back(random_tensor({kind, shape}, ++seed));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    leaves.emplace_back("group/" + std::to_string(i), values[i]);
  for (const int format : {2, 3}) {
    for (const bool compressed : {false, true}) {
      for (const bool threaded : {false, true}) {
        context how;
        if (threaded) how.executor = pool.executor();
        save_options options{.zarr_format = format, .sync = false};
        if (compressed)
          options.rules = {
              {.codecs = format == 2 ? std::vector<codec_spec>{{"bytes",
                                                                json::object{{"endian", "little"}}},
                                                               {"zstd", json::object{{"level", 1}}}}
                                     : zstd_codecs(1)}};
        const auto report = save(dir / "m.zarr", leaves, options, how);
        CHECK_MESSAGE(report, (report ? "" : to_string(report.failure())));
        if (!report) continue;
        const checkpoint opened = open(dir / "m.zarr", how).value();
        CHECK(opened.size() == values.size());
        CHECK(opened.id() == report->id);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto loaded = opened.load<tensor>("group/" + std::to_string(i));
          CAPTURE(to_string(values[i].view().spec()));
          REQUIRE_MESSAGE(loaded, (loaded ? "" : to_string(loaded.failure())));
          CHECK(same_bytes(*loaded, values[i]));
        }
      }
    }
  }
}

TEST_CASE("blosc_codecs: every dtype comes back, weights take two thirds of their size") {
  const test::temp_directory dir;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, 0.02F);
  std::vector<bfloat16> weights(1'000'000);
  for (bfloat16& one : weights) one = bfloat16(normal(random));
  std::vector<tensor> values;
  std::vector<std::string> names;
  for (const dtype_kind kind : {dtype_kind::bool_, dtype_kind::int8, dtype_kind::int16,
                                dtype_kind::float32, dtype_kind::complex128, dtype_kind::string}) {
    for (const dims& shape : {dims{}, dims{0}, dims{7}, dims{700, 611}})
      values.push_back(random_tensor({kind, shape}, static_cast<unsigned>(values.size())));
  }
  for (const int format : {2, 3}) {
    std::vector<leaf> leaves{{"weights", weights}};
    for (std::size_t i = 0; i < values.size(); ++i)
      leaves.emplace_back("x" + std::to_string(i), values[i]);
    const save_options options{
        .zarr_format = format, .rules = {{.codecs = blosc_codecs()}}, .sync = false};
    const save_report report = save(dir / "m.zarr", leaves, options).value();
    CHECK(static_cast<double>(report.leaves[0].stored_bytes) < 0.7 * 2e6);
    const checkpoint opened = open(dir / "m.zarr").value();
    CHECK(opened.load<std::vector<bfloat16>>("weights").value() == weights);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(to_string(values[i].view().spec()));
      CHECK(same_bytes(opened.load<tensor>("x" + std::to_string(i)).value(), values[i]));
    }
  }
}

TEST_CASE("leaves of many C++ types") {
  const test::temp_directory dir;
  const std::vector<double> vector{1.5, -2.5, std::nan("")};
  const std::array<std::int16_t, 4> array{1, 2, 3, 4};
  const std::vector<std::string> words{"a", "", "h\u00e9h\u00e9", std::string(5000, 'x')};
  save(dir / "m.zarr", {{"vector", vector},
                        {"array", array},
                        {"words", words},
                        {"step", 1200},
                        {"rate", 0.1},
                        {"flag", true},
                        {"z", std::complex<float>(1, -2)},
                        {"half", bfloat16(0.5F)},
                        {"note", "warm start"},
                        {"config", json_text{R"({"a": 1})"}}})
      .value();
  const checkpoint opened = open(dir / "m.zarr").value();
  const auto again = opened.load<std::vector<double>>("vector").value();
  CHECK(again[0] == 1.5);
  CHECK(std::isnan(again[2]));
  CHECK(opened.load<std::array<std::int16_t, 4>>("array").value() == array);
  CHECK(opened.load<std::vector<std::string>>("words").value() == words);
  CHECK(opened.load<int>("step").value() == 1200);
  CHECK(opened.load<double>("rate").value() == 0.1);
  CHECK(opened.load<bool>("flag").value());
  CHECK(opened.load<std::complex<float>>("z").value() == std::complex<float>(1, -2));
  CHECK(opened.load<bfloat16>("half").value() == bfloat16(0.5F));
  CHECK(opened.load<std::string>("note").value() == "warm start");
  CHECK(opened.load<json_text>("config").value().text == R"({"a": 1})");
  CHECK(opened.metadata("config").value().typestr == "json");
}

TEST_CASE("empty trees and empty leaves") {
  const test::temp_directory dir;
  CHECK(save(dir / "none.zarr", std::span<const leaf>()).value().leaves.empty());
  CHECK(open(dir / "none.zarr").value().size() == 0);
  save(dir / "empty.zarr", {{"e", std::vector<float>{}}}).value();
  CHECK(open(dir / "empty.zarr").value().load<std::vector<float>>("e").value().empty());
}

TEST_CASE("what is written is stable: metadata byte for byte, but for the id") {
  const test::temp_directory dir;
  const std::vector<float> w = ramp(6);
  save(dir / "m.zarr", {{"layers/0/w", w}}, {.sync = false}).value();
  CHECK(test::read_file(dir.path() / "m.zarr/layers/zarr.json") ==
        "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\"\n}");
  CHECK(test::read_file(dir.path() / "m.zarr/layers/0/w/zarr.json")
            .find("\"data_type\": \"float32\"") != std::string::npos);
  const std::string first = test::read_file(dir.path() / "m.zarr/layers/0/w/zarr.json");
  save(dir / "m.zarr", {{"layers/0/w", w}}, {.sync = false}).value();
  CHECK(test::read_file(dir.path() / "m.zarr/layers/0/w/zarr.json") == first);
}

TEST_CASE("attributes of leaves and groups come back, sealed, in every form") {
  const std::vector<float> w = ramp(6);
  const json unit = json::object{{"unit", "m"}, {"scale", json::array{0.5, 2}}};
  const json layer = json::object{{"layer", 0}};
  const json empty = json::object{{"why", "nothing yet"}};
  for (const int format : {2, 3}) {
    for (const bool consolidated : {false, true}) {
      const test::temp_directory dir;
      CAPTURE(format);
      CAPTURE(consolidated);
      const save_options options{
          .zarr_format = format,
          .consolidated_metadata = consolidated,
          .attributes = json::object{{"optimizer", "adam"}},
          .attributes_of = {
              {"layers/0/w", unit}, {"layers/0", layer}, {"e", empty}, {"step", json::object{}}}};
      save(dir / "m.zarr",
           std::vector<leaf>{
               {"layers/0/w", w}, {"layers/1/w", w}, {"step", 3}, leaf::empty_group("e")},
           options)
          .value();
      const auto check = [&] {
        const checkpoint opened = open(dir / "m.zarr").value();
        CHECK(opened.attributes() == options.attributes);
        CHECK(opened.attributes("layers/0/w").value() == unit);
        CHECK(opened.metadata("layers/0/w").value().attributes == unit);
        CHECK(opened.as_array("layers/0/w").value().metadata().attributes == unit);
        CHECK(opened.attributes("layers/1/w").value().is_null());
        CHECK(opened.metadata("layers/1/w").value().attributes.is_null());
        CHECK(opened.as_array("layers/1/w").value().metadata().attributes.is_null());
        CHECK(opened.attributes("step").value().is_null());
        CHECK(opened.attributes("layers/0").value() == layer);
        CHECK(opened.attributes("layers").value().is_null());
        CHECK(opened.attributes("layers/1").value().is_null());
        CHECK(opened.attributes("e").value() == empty);
        CHECK(opened.empty_groups() == std::vector<std::string>{"e"});
        CHECK(opened.load<std::vector<float>>("layers/0/w").value() == w);
        return opened.id();
      };
      CHECK_FALSE(check().empty());
      // A change of them breaks the seal.
      const fs::path root = dir.path() / (format == 2 ? "m.zarr/.zattrs" : "m.zarr/zarr.json");
      const std::string text = test::read_file(root);
      const std::size_t commit = text.find("\"zarrpoint\"");
      for (const char* what : {"\"unit\"", "\"layer\"", "\"why\""}) {
        const std::size_t at = text.find(what, commit);
        REQUIRE(at != std::string::npos);
        std::string changed = text;
        changed[at + 1] ^= 1;
        test::write_file(root, changed);
        CHECK_FALSE(open(dir / "m.zarr"));
      }
      // Others read the documents of each node.
      json bare = format == 2 ? json(json::object{{"optimizer", "adam"}})
                              : json(json::object{{"zarr_format", 3},
                                                  {"node_type", "group"},
                                                  {"attributes", options.attributes}});
      test::write_file(root, dump_json(bare));
      if (format == 2) {
        CHECK_FALSE(open(dir / "m.zarr"));  // which they tell of as a group of their own
        test::write_file(dir.path() / "m.zarr/.zgroup", R"({"zarr_format": 2})");
      }
      CHECK(check().empty());
    }
  }
}

TEST_CASE("attributes of what is not saved, or not as they must be, are refused at once") {
  const test::temp_directory dir;
  const auto refusal = [&](json::object of) {
    const auto refused = save(dir / "m.zarr", {{"a/w", 1}}, {.attributes_of = std::move(of)});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK(names_in(dir.path()).empty());
    return refused.failure().message;
  };
  const json one = json::object{{"n", 1}};
  CHECK(refusal({{"a", one}, {"b", one}}).find("attributes_of \"b\": no leaf or group") !=
        std::string::npos);
  CHECK(refusal({{"a/w", 3}}).find("must be an object") != std::string::npos);
  CHECK(refusal({{"a", json::object{{"zarrpoint", 1}}}}).find("reserved") != std::string::npos);
  CHECK(refusal({{"", one}}).find("save_options::attributes") != std::string::npos);
}

TEST_CASE("attributes at their limits are read back, and beyond them nothing is left") {
  const test::temp_directory dir;
  json deep = json::object{{"end", 1}};
  for (int i = 0; i < 38; ++i) deep = json::object{{"in", std::move(deep)}};
  for (const int format : {2, 3}) {
    save(dir / "deep.zarr", {{"a/w", 1}},
         {.zarr_format = format, .attributes_of = {{"a", deep}, {"a/w", deep}}})
        .value();
    const checkpoint opened = open(dir / "deep.zarr").value();
    CHECK(opened.attributes("a").value() == deep);
    CHECK(opened.attributes("a/w").value() == deep);
    CHECK(opened.as_array("a/w").value().metadata().attributes == deep);
    context how;
    how.limit.metadata_bytes = 1 << 20;
    const json many = json::object{{"n", json::array(100'000, json(1))}};
    const auto refused = save(dir / "many.zarr", {{"a/w", 1}},
                              {.zarr_format = format, .attributes_of = {{"a", many}}}, how);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::resource_limit);
    CHECK_FALSE(fs::exists(dir.path() / "many.zarr"));
  }
}

TEST_CASE("attributes that an older checkpoint had are gone with it, in any store") {
  const test::toy_store in_place;  // which cannot publish
  const test::temp_directory dir;
  const json one = json::object{{"n", 1}};
  for (const location& where : {location(in_place), location(dir / "m.zarr")}) {
    save(where, {{"a/w", 1}}, {.zarr_format = 2, .attributes_of = {{"a", one}, {"a/w", one}}})
        .value();
    CHECK(open(where).value().attributes("a/w").value() == one);
    save(where, {{"a/w", 1}}, {.zarr_format = 2}).value();
    const checkpoint opened = open(where).value();
    CHECK(opened.attributes("a").value().is_null());
    CHECK(opened.attributes("a/w").value().is_null());
  }
  for (const char* key : {"a/.zattrs", "a/w/.zattrs"}) {
    CHECK_FALSE(get(in_place, store_key::parse(key).value(), 1 << 20).value().has_value());
    CHECK_FALSE(fs::exists(dir.path() / "m.zarr" / key));
  }
}

TEST_CASE("saving over a checkpoint replaces it whole") {
  const test::temp_directory dir;
  save(dir / "m.zarr", {{"old", 1}, {"both", 2}}).value();
  const save_report report = save(dir / "m.zarr", {{"new", 3}, {"both", 4}}).value();
  CHECK(report.seconds > 0);
  CHECK(report.blocked_seconds == report.seconds);
  const checkpoint opened = open(dir / "m.zarr").value();
  CHECK(opened.names() == std::vector<std::string>{"both", "new"});
  CHECK(opened.load<int>("both").value() == 4);
  CHECK_FALSE(fs::exists(dir.path() / "m.zarr/old"));
  CHECK(names_in(dir.path()) == std::vector<std::string>{"m.zarr"});
}

TEST_CASE("what is not a checkpoint is never replaced") {
  const test::temp_directory dir;
  fs::create_directories(dir.path() / "home/important");
  test::write_file(dir.path() / "home/important/file", "precious");
  test::write_file(dir.path() / "file", "precious");
  for (const char* target : {"home", "file"}) {
    const auto refused = save(dir / target, {{"a", 1}});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::already_exists);
    CHECK(refused.failure().message.find(target) != std::string::npos);
    CHECK(refused.failure().message.find("nothing was changed") != std::string::npos);
  }
  CHECK(test::read_file(dir.path() / "home/important/file") == "precious");
  CHECK(test::read_file(dir.path() / "file") == "precious");
  // A member of our name where the commit document is not: somebody else's.
  for (const auto& [file, text] :
       {std::pair{"zarr.json",
                  R"({"zarr_format": 3, "node_type": "group", "zarrpoint": {"format": 1}})"},
        std::pair{".zattrs", R"({"attributes": {"zarrpoint": {"format": 1}}})"}}) {
    fs::create_directory(dir.path() / "theirs");
    test::write_file(dir.path() / "theirs" / file, text);
    const auto kept = save(dir / "theirs", {{"a", 1}});
    REQUIRE_FALSE(kept);
    CHECK(kept.failure().code == errc::already_exists);
    CHECK(test::read_file(dir.path() / "theirs" / file) == text);
    fs::remove_all(dir.path() / "theirs");
  }
  save(dir / "m.zarr", {{"a", 1}}).value();
  const auto refused = save(dir / "m.zarr", {{"a", 2}}, {.overwrite = false});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::already_exists);
  CHECK(open(dir / "m.zarr").value().load<int>("a").value() == 1);
  fs::create_directory(dir.path() / "empty");
  CHECK(save(dir / "empty", {{"a", 3}}));
  CHECK(open(dir / "empty").value().load<int>("a").value() == 3);
}

TEST_CASE("a hierarchy that others wrote, or a damaged one, is never replaced") {
  const test::temp_directory dir;
  const std::vector<std::pair<const char*, const char*>> foreign{
      {"zarr.json", R"({"zarr_format":3,"node_type":"group"})"},
      {"zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":{"zarrpoint":1}})"},
      {"zarr.json", R"({"zarr_form)"},
      {".zgroup", R"({"zarr_format":2})"},
      {".zattrs", "{}"},
      {".zarray", "{}"}};
  for (const auto& [name, text] : foreign) {
    CAPTURE(text);
    fs::create_directory(dir.path() / "m.zarr");
    test::write_file(dir.path() / "m.zarr" / name, text);
    const auto refused = save(dir / "m.zarr", {{"a", 1}});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::already_exists);
    CHECK(refused.failure().message.find("m.zarr is a Zarr hierarchy of another program, or a "
                                         "damaged one") != std::string::npos);
    CHECK(test::read_file(dir.path() / "m.zarr" / name) == text);
    fs::remove_all(dir.path() / "m.zarr");
  }
  save(dir / "m.zarr", {{"a", 1}}, {.zarr_format = 2}).value();
  CHECK(save(dir / "m.zarr", {{"a", 2}}));  // ours, in another format
}

TEST_CASE("a data type that hides leaves from zarr-python is a warning, one for each type") {
  const std::vector<float> plain = ramp(4);
  const tensor half = tensor::make({dtype_kind::bfloat16, {4}}).value();
  const tensor codes = tensor::make({dtype_kind::int4, {4}}).value();
  const tensor flat = tensor::make({make_record({{"x", dtype_kind::int32}}).value(), {4}}).value();
  const tensor nested =
      tensor::make(
          {make_record({{"a", make_record({{"x", dtype_kind::int32, {2}}}).value()}}).value(), {4}})
          .value();
  const tensor words = tensor::make({dtype::utf32(3), {2}}).value();
  const auto warnings = [&](int format, std::initializer_list<leaf> leaves) {
    save_options options;
    options.zarr_format = format;
    return save(memory_store(), leaves, options).value().warnings;
  };
  for (const int format : {2, 3}) {
    CAPTURE(format);
    CHECK(warnings(format, {{"w", plain}, {"name", "a"}, {"words", words}}).empty());
    CHECK(warnings(format, {{"w", plain}, {"a/h", half}, {"c", codes}, {"b/h", half}}) ==
          std::vector<std::string>{
              "bfloat16: zarr-python cannot open 2 leaves, such as \"a/h\", and cannot list "
              "the groups that hold them; it can open the other leaves by name",
              "int4: zarr-python cannot open \"c\", and cannot list the groups that hold "
              "it; it can open the other leaves by name"});
  }
  CHECK(warnings(2, {{"r", flat}}).empty());
  CHECK(
      warnings(3, {{"r", flat}}) ==
      std::vector<std::string>{"struct: zarr-python cannot open \"r\", and cannot list the groups "
                               "that hold it; it can open the other leaves by name"});
  CHECK(warnings(2, {{"r", nested}}).size() == 1);
}

TEST_CASE("a rule that matches no leaf is a warning") {
  const std::vector<float> w{1, 2};
  const std::vector<leaf> leaves{{"a/w", w}, {"b", w}};
  const auto warnings = [&](std::vector<leaf_rule> rules) {
    return save(memory_store(), leaves, {.rules = std::move(rules)}).value().warnings;
  };
  CHECK(warnings({{.glob = "a/*"}, {.glob = "**"}, {.glob = "b"}}).empty());
  CHECK(warnings({{.glob = "a/*"}, {.glob = "*w"}, {.glob = ""}}) ==
        std::vector<std::string>{"the rule for \"*w\" matches no leaf",
                                 "the rule for \"\" matches no leaf"});
}

TEST_CASE("a failed save leaves the old checkpoint and nothing else") {
  const test::temp_directory dir;
  save(dir / "m.zarr", {{"a", 1}}).value();
  const std::string before = test::read_file(dir.path() / "m.zarr/zarr.json");
  const auto check_refused = [&](const result<save_report>& refused, errc code, const char* text) {
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == code);
    CAPTURE(refused.failure().message);
    CHECK(refused.failure().message.find(text) != std::string::npos);
    CHECK(test::read_file(dir.path() / "m.zarr/zarr.json") == before);
    CHECK(names_in(dir.path()) == std::vector<std::string>{"m.zarr"});
  };
  const std::vector<float> w = ramp(10);
  check_refused(save(dir / "m.zarr", {{"a/b", w}, {"a", w}}), errc::invalid_argument,
                "cannot be a leaf: other leaves lie below that name");
  check_refused(save(dir / "m.zarr", {{"a", w}}, {.rules = {{.cast = dtype(dtype_kind::string)}}}),
                errc::unsupported, "no cast from float32 to string");
  check_refused(save(dir / "m.zarr", {{"a", w}},
                     {.rules = {{.codecs = std::vector<codec_spec>{{"nope", json()}}}}}),
                errc::unsupported, "nope");
  check_refused(save(dir / "m.zarr", {{"a", w}}, {.attributes = json::object{{"zarrpoint", 1}}}),
                errc::invalid_argument, "reserved");
  stop_source stop;
  stop.request_stop();
  context how;
  how.stop = stop.token();
  check_refused(save(dir / "m.zarr", {{"a", w}}, {}, how), errc::cancelled, "");
  check_refused(save(dir / "nowhere/m.zarr", {{"a", w}}), errc::not_found, "nowhere");
}

TEST_CASE("in a store that publishes nothing at once, a failed save leaves no checkpoint at all") {
  for (const int zarr_format : {3, 2}) {
    CAPTURE(zarr_format);
    const zarrpoint_test::recording_store store;
    const std::vector<leaf> leaves{{"a", ramp(100)}, {"b", ramp(50)}};
    const save_options options{.zarr_format = zarr_format};
    save(any_store(store), leaves, options).value();
    REQUIRE(open(any_store(store)));
    // What is new lies where the old lay: the old document must not vouch for it.
    for (std::int64_t writes = 0;; ++writes) {
      CAPTURE(writes);
      store->writes_until_failure = writes;
      const auto saved = save(any_store(store), leaves, options);
      store->writes_until_failure = INT64_MAX;
      if (saved) {
        CHECK(writes > 2);
        break;
      }
      CHECK_FALSE(open(any_store(store)));
      // Without its attributes a group of v2 is taken for that of another program.
      store.erase(store_key::parse(".zgroup").value()).value();
      save(any_store(store), leaves, options).value();
    }
  }
}

TEST_CASE("a full disk, or one that is read-only, leaves the old checkpoint and says why") {
  const test::temp_directory dir;
  const std::string disk = dir / "disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=4m") != 0) {
    MESSAGE("skipped: mounting a tmpfs needs root");
    return;
  }
  const std::vector<float> small = ramp(1000);
  const std::string path = disk + "/m.zarr";
  save(path, {{"w", small}}).value();
  for (const bool compressed : {false, true}) {
    save_options options;
    if (compressed) options.rules = {{.codecs = zstd_codecs(1)}};
    const auto refused =
        save(path, {{"w", random_tensor({dtype_kind::uint8, {8 << 20}}, 1)}}, options);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::io);
    CAPTURE(refused.failure().message);
    CHECK(refused.failure().message.find("No space left on device") != std::string::npos);
    CHECK(refused.failure().message.find("\"w\"") != std::string::npos);
    CHECK(open(path).value().load<std::vector<float>>("w").value() == small);
    CHECK(names_in(disk) == std::vector<std::string>{"m.zarr"});
  }
  CHECK(::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  const auto refused = save(path, {{"w", small}});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message.find("Read-only file system") != std::string::npos);
  CHECK(open(path).value().load<std::vector<float>>("w").value() == small);
  CHECK(::umount2(disk.c_str(), MNT_DETACH) == 0);
}

TEST_CASE("casts on save, by rule") {
  const test::temp_directory dir;
  std::vector<float> w = ramp(300000);
  w[7] = 1.0F / 3;
  const auto report = save(dir / "m.zarr", {{"a/w", w}, {"b", w}},
                           {.rules = {{.glob = "a/*", .cast = dtype(dtype_kind::bfloat16)}}})
                          .value();
  CHECK(report.leaves[0].stored.type == dtype_kind::bfloat16);
  CHECK(report.leaves[1].stored.type == dtype_kind::float32);
  const checkpoint opened = open(dir / "m.zarr").value();
  const auto half = opened.load<std::vector<bfloat16>>("a/w").value();
  for (std::size_t i = 0; i < w.size(); ++i) REQUIRE(half[i].to_bits() == bfloat16(w[i]).to_bits());
  CHECK(opened.load<std::vector<float>>("b").value() == w);
}

TEST_CASE("fill elision leaves out chunks of zeros, and they read as zeros") {
  const test::temp_directory dir;
  std::vector<float> w(1 << 20);
  w[5] = 1;
  const auto report =
      save(dir / "m.zarr", {{"w", w}, {"zero", std::vector<float>(10)}}, {.elide_fill = true})
          .value();
  CHECK(report.stored_bytes < 2 << 20);
  CHECK_FALSE(fs::exists(dir.path() / "m.zarr/zero/c"));
  const checkpoint opened = open(dir / "m.zarr").value();
  CHECK(opened.load<std::vector<float>>("w").value() == w);
  CHECK(opened.load<std::vector<float>>("zero").value() == std::vector<float>(10));
  CHECK(opened.load<std::vector<float>>("w", {.verify = false}).value() == w);
}

TEST_CASE("a leaf is stored as another array is, whole") {
  memory_store store;
  std::vector<float> values(48, 7.5F);
  values[5] = 1;
  array_metadata as;
  as.type = dtype_kind::float32;
  as.chunk_shape = {2, 4};
  as.fill = fill_value::of(7.5F);
  as.codecs = zstd_codecs(3);
  as.dimension_names = dimension_names_list{"y", std::nullopt};
  save_options options;
  options.rules = {{.chunk_shape = dims{3, 3}}};
  std::vector<leaf_layout> layouts{{"a", as}, {"nobody's", as}, {"z/copy", as, true, "json"}};
  options.layouts = layouts;
  const std::span<const float> flat(values);
  tensor two = tensor::make({dtype_kind::float32, {6, 8}}).value();
  std::memcpy(two.mutable_view().data, flat.data(), flat.size_bytes());
  REQUIRE(save(store, {{"a", two}, {"other", two}, {"z/copy", two}}, options));
  const auto made = open(store).value();
  for (const char* name : {"a", "z/copy"}) {
    CAPTURE(name);
    const array got = array::open(store, store_key::parse(name).value()).value();
    CHECK(got.metadata().chunk_shape == dims{2, 4});
    CHECK(got.metadata().fill == as.fill);
    CHECK(got.metadata().codecs == as.codecs);
    CHECK(got.metadata().dimension_names == as.dimension_names);
    CHECK(same_bytes(made.load<tensor>(name).value(), two));
  }
  CHECK(made.typestr("z/copy") == "json");
  CHECK(made.typestr("a") == "array");
  CHECK(made.metadata("other").value().chunk_shape == dims{3, 3});
  const auto count = [&](const char* at) {
    return store.list(store_key::parse(at).value()).value().size();
  };
  CHECK(count("a/c") == 3);       // rows of chunks
  CHECK(count("z/copy/c") == 1);  // all else is the fill value
  CHECK(verify(made).value().result() == verdict::ok);

  as.chunk_shape = {2};
  layouts = {{"a", as}};
  options.layouts = layouts;
  CHECK(save(store, {{"a", two}}, options).failure().message.find("does not fit shape") !=
        std::string::npos);
  as.chunk_shape = {2, 4};
  as.zarr_format = 2;
  layouts = {{"a", as}};
  options.layouts = layouts;
  CHECK(!save(store, {{"a", two}}, options));
}

TEST_CASE("save_async returns at once and its result is the save's") {
  const test::temp_directory dir;
  const testing::manual_executor later;
  pending<save_report> waiting =
      save_async(dir / "later.zarr", {{"a", 1}}, {}, {.executor = any_executor(later)});
  CHECK_FALSE(fs::exists(dir.path() / "later.zarr"));
  CHECK_FALSE(waiting.ready());
  later.run_all();
  CHECK(waiting.get());
  CHECK(fs::exists(dir.path() / "later.zarr"));
  thread_pool pool(2);
  const context how{.executor = pool.executor()};
  const std::vector<float> w = ramp(100000);
  pending<save_report> running = save_async(dir / "m.zarr", {{"w", w}}, {}, how);
  const save_report report = running.get().value();
  CHECK(report.leaves[0].bytes == 400000);
  CHECK(open(dir / "m.zarr").value().load<std::vector<float>>("w").value() == w);
  pending<save_report> failing = save_async(dir / "nowhere/m.zarr", {{"w", w}}, {}, how);
  CHECK_FALSE(failing.get());
}

TEST_CASE("progress counts every byte once, and ends at the total") {
  const test::temp_directory dir;
  const std::vector<float> w = ramp(1 << 20);
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  context how;
  how.progress = [&](const progress_event& event) {
    CHECK(event.bytes_done >= last);
    last = event.bytes_done;
    total = event.bytes_total;
  };
  save(dir / "m.zarr", {{"w", w}, {"step", 3}}, {}, how).value();
  CHECK(total == 4 * w.size() + 4);
  CHECK(last == total);
}

TEST_CASE("a store of any kind takes a checkpoint") {
  const memory_store memory;
  const std::vector<float> w = ramp(1000);
  const store_key key = store_key::parse("runs/7").value();
  save({memory, key}, {{"w", w}}).value();
  CHECK(open({memory, key}).value().load<std::vector<float>>("w").value() == w);
  save(memory_store(), {{"w", w}}).value();
  save({memory, key}, {{"v", w}}).value();
  CHECK(open({memory, key}).value().names() == std::vector<std::string>{"v"});
  const auto missing = open(memory);
  REQUIRE_FALSE(missing);
  CHECK(missing.failure().code == errc::not_found);
}

}  // namespace save_test
