// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

// `save_options::format`: one call saves in any format, and what a format lacks is said.

namespace save_format_test {

using namespace zarrpoint;
using test::temp_directory;
namespace fs = std::filesystem;

struct target {
  const char* name;
  any_writable_format format;
  const char* opened_as;
};

std::vector<target> targets() {
  return {{"model.zarr", {}, "Zarr v3 checkpoint of zarrpoint"},
          {"model.safetensors", safetensors::format{}, "safetensors"},
          {"model", safetensors::format{.max_file_bytes = 8}, "safetensors in files"},
          {"dcp", dcp::format{}, "DCP checkpoint"},
          {"orbax", orbax::format{}, "Orbax checkpoint"}};
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST_CASE("a save in each format is opened as that format") {
  const temp_directory dir;
  const std::vector<float> w{1, 2, 3};
  const std::vector<std::int64_t> b{4, 5};
  for (const target& to : targets()) {
    CAPTURE(to.name);
    const std::string path = dir / to.name;
    for (int turn = 0; turn < 2; ++turn) {  // the second replaces the first
      const auto report = save(path, {{"a/w", w}, {"b", b}}, {.format = to.format});
      REQUIRE(report);
      CHECK(report->warnings.empty());
      CHECK(report->bytes == 28);
    }
    const auto ckpt = open(path, all_formats());
    REQUIRE(ckpt);
    if (to.format) CHECK(ckpt->format() == to.opened_as);
    CHECK(ckpt->load<std::vector<float>>("a/w").value() == w);
    CHECK(ckpt->load<std::vector<std::int64_t>>("b").value() == b);
  }
}

TEST_CASE("a save in the background is the same save") {
  const temp_directory dir;
  const std::vector<float> w{1, 2, 3};
  for (const target& to : targets()) {
    CAPTURE(to.name);
    const std::string path = dir / to.name;
    const auto report = save_async(path, {{"w", w}}, {.format = to.format}).get();
    REQUIRE(report);
    CHECK(report->blocked_seconds <= report->seconds);
    CHECK(open(path, all_formats()).value().load<std::vector<float>>("w").value() == w);
  }
}

TEST_CASE("no format replaces what another one wrote, and none replaces without being asked") {
  const temp_directory dir;
  const std::vector<float> w{1, 2, 3};
  for (const target& first : targets()) {
    CAPTURE(first.name);
    const std::string path = dir / first.name;
    REQUIRE(save(path, {{"w", w}}, {.format = first.format}));
    for (const target& second : targets()) {
      CAPTURE(second.name);
      const bool is_same = std::string(first.name) == second.name;
      const auto report = save(path, {{"w", std::vector<float>{9}}},
                               {.overwrite = !is_same, .format = second.format});
      // The path decides whether safetensors are one file or several.
      if (!is_same && std::string(first.opened_as).starts_with("safetensors") &&
          std::string(second.opened_as).starts_with("safetensors"))
        continue;
      REQUIRE(!report);
      CHECK(report.failure().code == errc::already_exists);
      CHECK(has(report.failure().message, path.c_str()));
    }
    if (!std::string(first.opened_as).starts_with("safetensors"))
      CHECK(open(path, all_formats()).value().load<std::vector<float>>("w").value() == w);
  }
}

TEST_CASE("a file that is not safetensors stays as it is") {
  const temp_directory dir;
  const std::string path = dir / "m.safetensors";
  test::write_file(path, "a letter");
  const auto report = save(path, {{"w", std::vector<float>{1}}}, {.format = safetensors::format{}});
  REQUIRE(!report);
  CHECK(report.failure().code == errc::already_exists);
  CHECK(has(report.failure().message, "is not a safetensors file"));
  CHECK(fs::file_size(path) == 8);
}

TEST_CASE("what a format has no place for is refused where data would be lost") {
  const temp_directory dir;
  const std::vector<leaf> leaves{{"w", std::vector<float>{1}}};
  const std::string path = dir / "x.safetensors";
  for (const any_writable_format& format :
       {any_writable_format(safetensors::format{}), any_writable_format(dcp::format{})}) {
    save_options with{.format = format};
    with.attributes = node::object{{"a", 1}};
    auto refused = save(path, leaves, with);
    REQUIRE(!refused);
    CHECK(refused.failure().code == errc::unsupported);
    CHECK(has(refused.failure().message, "has no place for save_options::attributes"));

    with = {.format = format};
    with.attributes_of = {{"w", node::object{{"a", 1}}}};
    refused = save(path, leaves, with);
    REQUIRE(!refused);
    CHECK(has(refused.failure().message, "the attributes of \"w\""));

    with = {.rules = {{.glob = "w*", .cast = dtype_kind::int8}}, .format = format};
    refused = save(path, leaves, with);
    REQUIRE(!refused);
    CHECK(has(refused.failure().message, "the cast of the rule \"w*\""));
    CHECK(!fs::exists(path));

    with = {.rules = {{.chunk_byte_size = 4}}, .elide_fill = true, .format = format};
    with.attributes = node::object{};  // nothing is lost
    const auto saved = save(path, leaves, with);
    REQUIRE(saved);
    REQUIRE(saved->warnings.size() == 2);
    CHECK(has(saved->warnings[0], "elide_fill has no effect"));
    CHECK(has(saved->warnings[1], "no chunks, codecs"));
    fs::remove_all(path);
  }
  const auto text = save(path, {{"t", "text"}}, {.format = safetensors::format{}});
  REQUIRE(!text);
  CHECK(text.failure().code == errc::unsupported);
  CHECK(has(text.failure().message, "leaf \"t\""));
}

/// As docs/formats.md has it.
result<save_report> save_for_orbax(const std::string& path, const std::vector<leaf>& leaves) {
  namespace zp = zarrpoint;
  const auto report = zp::save(path, leaves, {.format = zp::orbax::format{}});
  return report;
}

TEST_CASE("a group without leaves is an empty dict of Orbax") {
  const temp_directory dir;
  REQUIRE(save_for_orbax(dir / "orbax", {{"w", std::vector<float>{1}}, leaf::empty_group("g")}));
  const auto ckpt = open(dir / "orbax", all_formats());
  REQUIRE(ckpt);
  CHECK(ckpt->load<std::vector<float>>("w").value() == std::vector<float>{1});
  const auto refused =
      save(dir / "dcp", std::vector<leaf>{leaf::empty_group("g")}, {.format = dcp::format{}});
  REQUIRE(!refused);
  CHECK(has(refused.failure().message, "the empty group \"g\""));
}

TEST_CASE("many processes are told to call the format's own save") {
  const temp_directory dir;
  const std::vector<float> w{1};
  const state tree{{"w", shard("w", std::span<const float>(w), {}).value()}};
  const auto report =
      save(dir / "orbax", tree, process_group{}, {.storage = {.format = orbax::format{}}});
  REQUIRE(!report);
  CHECK(report.failure().code == errc::invalid_argument);
  CHECK(has(report.failure().message, "save_options::format is for one process"));
  CHECK(!fs::exists(dir / "orbax"));
}

TEST_CASE("what a plan that is kept lets differ is checked again") {
  const temp_directory dir;
  const std::vector<float> w{1};
  orbax::save_tree_options how{.plans = std::make_shared<plan_cache>()};
  REQUIRE(orbax::save(dir / "a", {{"w", w}}, how));
  how.custom_metadata = "text";
  const auto report = orbax::save(dir / "b", {{"w", w}}, how);
  REQUIRE(!report);
  CHECK(has(report.failure().message, "custom_metadata and step_metadata must be objects"));
  CHECK(!fs::exists(dir / "b"));
  how.custom_metadata = node::object{{"a", 1}};
  const auto again = orbax::save(dir / "b", {{"w", w}}, how);
  REQUIRE(again);
  CHECK(again->plan_reused);
}

TEST_CASE("every format tells of a rule that matches no leaf, and stops when asked") {
  const temp_directory dir;
  for (const target& to : targets()) {
    CAPTURE(to.name);
    const auto report = save(dir / to.name, {{"w", std::vector<float>{1}}},
                             {.rules = {{.glob = "nothing"}}, .format = to.format});
    REQUIRE(report);
    REQUIRE(report->warnings.size() == 1);
    CHECK(has(report->warnings[0], "the rule for \"nothing\" matches no leaf"));
    stop_source stop;
    stop.request_stop();
    context how = default_context();
    how.stop = stop.token();
    const auto stopped =
        save(dir / "stopped", {{"w", std::vector<float>{1}}}, {.format = to.format}, how);
    REQUIRE(!stopped);
    CHECK(stopped.failure().code == errc::cancelled);
    CHECK(!fs::exists(dir / "stopped"));
  }
}

TEST_CASE("Orbax casts as it is told by rules") {
  const temp_directory dir;
  const std::string path = dir / "orbax";
  REQUIRE(save(path, {{"w", std::vector<double>{1, 2}}},
               {.rules = {{.cast = dtype_kind::float32}}, .format = orbax::format{}}));
  const auto ckpt = open(path, all_formats());
  REQUIRE(ckpt);
  CHECK(ckpt->load<std::vector<float>>("w").value() == std::vector<float>{1, 2});
}

}  // namespace save_format_test
