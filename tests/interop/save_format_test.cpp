// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_device.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("a save in the background says that another format has no copies on devices") {
  const temp_directory dir;
  zarrpoint_test::fake_device device(0);
  const std::vector<float> values(4, 2.5F);
  zarrpoint_test::device_tensor<float> w(zarrpoint_test::fake_space{&device, 0}, {4});
  w.upload(values);
  for (const target& to : targets()) {
    CAPTURE(to.name);
    const auto report =
        save_async(dir / to.name, {{"w", w}}, {.device_copy = true, .format = to.format}).get();
    REQUIRE(report);
    const auto& told = report->warnings;
    CHECK(std::any_of(told.begin(), told.end(), [](const std::string& one) {
            return has(one, "device_copy has no effect");
          }) == static_cast<bool>(to.format));
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
    with.attributes = json::object{{"a", 1}};
    auto refused = save(path, leaves, with);
    REQUIRE(!refused);
    CHECK(refused.failure().code == errc::unsupported);
    CHECK(has(refused.failure().message, "has no place for save_options::attributes"));

    with = {.format = format};
    with.attributes_of = {{"w", json::object{{"a", 1}}}};
    refused = save(path, leaves, with);
    REQUIRE(!refused);
    CHECK(has(refused.failure().message, "the attributes of \"w\""));

    with = {.rules = {{.glob = "w*", .cast = dtype_kind::int8}}, .format = format};
    refused = save(path, leaves, with);
    REQUIRE(!refused);
    CHECK(has(refused.failure().message, "the cast of the rule \"w*\""));
    CHECK(!fs::exists(path));

    with = {.rules = {{.chunk_byte_size = 4}}, .elide_fill = true, .format = format};
    with.attributes = json::object{};  // nothing is lost
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

/// A format of a program's own: our layout under another name.
struct own_format {
  static constexpr std::string_view name = "own";
};
result<group_saver> group_save_as(const own_format&, const group_save_request& what) {
  return save_by(zarr_saver{}, what);
}

/// What two processes bring: rows of "a/w", numbers and texts.
state state_of(const any_communicator& ranks, std::vector<float>& rows) {
  rows = {static_cast<float>(2 * ranks.rank()), static_cast<float>(2 * ranks.rank() + 1)};
  return {{"w", shard("a/w", rows, {.offsets = {{0, ranks.rank(), ranks.size()}}}).value()},
          {"step", 7},
          {"opt", {{"lr", 0.5}, {"names", state::list{"x", "y"}}}}};
}

TEST_CASE("many processes save in each format by the same call, in both ways") {
  const temp_directory dir;
  const store_table known = formats<dcp::format, megatron::format, orbax::format>();
  const struct {
    const char* name;
    any_writable_format format;
    const char* opened_as;
  } all[] = {{"orbax", orbax::format{.ocdbt = false}, "Orbax checkpoint"},
             {"dcp", dcp::format{.file_bytes = 1}, "DCP checkpoint"},
             {"megatron", megatron::format{}, "Megatron-Core zarr checkpoint"},
             {"torch_dist", megatron::format{.writes = megatron::backend::torch_dist},
              "Megatron-Core torch_dist checkpoint"},
             {"own", own_format{}, nullptr}};
  for (const auto& to : all) {
    for (const bool in_background : {false, true}) {
      CAPTURE(to.name);
      CAPTURE(in_background);
      const std::string path = dir / (std::string(to.name) + (in_background ? "_later" : ""));
      const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<save_report> {
        std::vector<float> rows;
        const process_group group{.ranks = self};
        const group_save_options how{.storage = {.sync = false, .format = to.format}};
        const state tree = state_of(group.ranks, rows);
        if (!in_background) return save(path, tree, group, how);
        async_saves later(group);
        ZARRPOINT_CHECK(later.schedule(path, tree, how));
        rows = {-1, -1};  // it was copied
        ZARRPOINT_TRY(reports, later.finalize());
        return std::move(reports.at(0));
      });
      for (const auto& one : done) {
        REQUIRE(one);
        CHECK(one->warnings.empty());
      }
      const auto ckpt = open(path, {.stores = known});
      REQUIRE(ckpt);
      if (to.opened_as != nullptr) CHECK(ckpt->format() == to.opened_as);
      CHECK(ckpt->load<std::vector<float>>("a/w").value() == std::vector<float>{0, 1, 2, 3});
    }
  }
  // Common values lie where each format has its place for them.
  const auto tree = open(dir / "orbax", {.stores = known}).value();
  CHECK(tree.load<std::int64_t>("step").value() == 7);
  CHECK(tree.load<double>("opt/lr").value() == 0.5);
  CHECK(tree.load<std::string>("opt/names/1").value() == "y");
  const auto torch = open(dir / "dcp", {.stores = known}).value();
  CHECK(torch.load<std::int64_t>("step").value() == 7);
  CHECK(torch.load<double>("opt.lr").value() == 0.5);
}

TEST_CASE("what many processes cannot save in a format is an error on all, and nothing is there") {
  const temp_directory dir;
  const auto refusal = [&](const group_save_options& how, bool has_object) {
    const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<save_report> {
      std::vector<float> rows;
      const any_communicator ranks = self;
      state tree = state_of(ranks, rows);
      // Of one process alone: the other must not wait for it.
      if (has_object && self.rank() == 1)
        tree.if_map()->emplace("o", sharded_object::make("o", json_text{"1"}).value());
      return save(dir / "no", tree, {.ranks = ranks}, how);
    });
    CHECK(!fs::exists(dir / "no"));
    REQUIRE(!done[0]);
    REQUIRE(!done[1]);
    CHECK(done[0].failure().code == done[1].failure().code);
    return to_string(done[0].failure());
  };
  for (const any_writable_format& to :
       {any_writable_format(orbax::format{}), any_writable_format(dcp::format{})}) {
    CHECK(has(refusal({.storage = {.format = to}}, true), "has no place for the object \"o"));
    CHECK(has(refusal({.storage = {.attributes = json::object{{"a", 1}}, .format = to}}, false),
              "has no place for save_options::attributes"));
    CHECK(has(refusal({.storage = {.format = to}, .content_metadata = 1}, false),
              "has no place for group_save_options::content_metadata"));
  }
  CHECK(has(refusal({.storage = {.format = safetensors::format{}}}, false),
            "is one that a single process writes"));
  // And the other way: a format of a state has no place for leaves.
  const auto alone = save(dir / "no", {{"w", 1.5}}, {.format = megatron::format{}});
  REQUIRE(!alone);
  CHECK(has(alone.failure().message, "process_group{}"));
  // A function of one format refuses another.
  const auto mixed = orbax::save(dir / "no", {{"w", 1.5}}, {.format = dcp::format{}});
  REQUIRE(!mixed);
  CHECK(has(mixed.failure().message, "another format than that of orbax::save"));
}

TEST_CASE("the save of one format loses nothing that its options ask for") {
  const temp_directory dir;
  const std::vector<float> w{1};
  const std::vector<safetensors::named_view> views{
      {"w", dense_view(reinterpret_cast<const std::byte*>(w.data()),
                       tensor_spec{dtype_kind::float32, {1}})}};
  const auto check_lost = [&](const save_options& how, const char* what) {
    const result<save_report> all[] = {dcp::save(dir / "no", {{"w", w}}, how),
                                       safetensors::save_files(dir / "no", views, how)};
    for (const auto& one : all) {
      REQUIRE(!one);
      CHECK(one.failure().code == errc::unsupported);
      CHECK(has(one.failure().message, what));
    }
  };
  const save_options noted{.attributes = json::object{{"a", 1}}};
  check_lost(noted, "has no place for save_options::attributes");
  check_lost({.rules = {{.cast = dtype_kind::float64}}}, "has no place for the cast");
  for (const auto& one : {orbax::save(dir / "no", {{"w", w}}, noted),
                          orbax::save_async(dir / "no", {{"w", w}}, noted).get()}) {
    REQUIRE(!one);
    CHECK(one.failure().code == errc::unsupported);
  }
  // Of rules that must match a leaf, also where the leaves are those of many processes.
  const save_options strict{.rules = {{.glob = "w"}, {.glob = "v"}}, .rules_must_match = true};
  const state tree{{"w", shard("w", w, {}).value()}};
  const char* const text = "the rule for \"v\" matches no leaf";
  const auto check_told = [&](const result<save_report>& told) {
    REQUIRE(told);
    const auto is_it = [&](const std::string& one) { return has(one, text); };
    CHECK(std::count_if(told->warnings.begin(), told->warnings.end(), is_it) == 1);
  };
  save_options lenient = strict;
  lenient.rules_must_match = false;
  const std::pair<const char*, any_writable_format> formats[] = {
      {"zarr", {}}, {"orbax", orbax::format{}}, {"dcp", dcp::format{}}};
  for (const auto& [name, to] : formats) {
    CAPTURE(name);
    group_save_options how{.storage = strict};
    how.storage.format = to;
    const auto refused = save(dir / "no", tree, {}, how);
    REQUIRE(!refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK(has(refused.failure().message, text));
    how.storage.rules_must_match = false;
    check_told(save(dir / name, tree, {}, how));
    how.storage.rules.pop_back();
    CHECK(save(dir / name, tree, {}, how));
  }
  CHECK(!orbax::save(dir / "no", {{"w", w}}, strict));
  CHECK(!dcp::save(dir / "no", {{"w", w}}, strict));
  check_told(orbax::save(dir / "orbax", {{"w", w}}, lenient));
  check_told(dcp::save(dir / "dcp", {{"w", w}}, lenient));
  CHECK(!fs::exists(dir / "no"));
}

TEST_CASE("what a plan that is kept lets differ is checked again") {
  const temp_directory dir;
  const std::vector<float> w{1};
  orbax::format as;
  save_options how{.plans = std::make_shared<plan_cache>()};
  REQUIRE(orbax::save(dir / "a", {{"w", w}}, how));
  as.custom_metadata = "text";
  how.format = as;
  const auto report = orbax::save(dir / "b", {{"w", w}}, how);
  REQUIRE(!report);
  CHECK(has(report.failure().message, "custom_metadata and step_metadata must be objects"));
  CHECK(!fs::exists(dir / "b"));
  as.custom_metadata = json::object{{"a", 1}};
  how.format = as;
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

TEST_CASE("of arrays of forty shapes in turn, each has its own") {
  const temp_directory dir;
  std::vector<leaf> leaves;
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < 80; ++i) values.emplace_back(i % 40 + 1, static_cast<float>(i));
  for (std::size_t i = 0; i < 80; ++i) leaves.emplace_back("layer" + std::to_string(i), values[i]);
  for (const target& to : targets()) {
    CAPTURE(to.name);
    const std::string path = dir / to.name;
    REQUIRE(save(path, leaves, {.format = to.format}));
    if (!to.format)  // without our document they are found by listing
      test::write_file(path + "/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
    const auto ckpt = open(path, all_formats());
    REQUIRE(ckpt);
    for (std::size_t i = 0; i < 80; ++i)
      CHECK(ckpt->load<std::vector<float>>(leaves[i].name()).value() == values[i]);
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

TEST_CASE("a safetensors file that comes while one is written is not replaced without overwrite") {
  const temp_directory dir;
  const std::string path = dir / "model.safetensors";
  const std::vector<float> w{1, 2, 3};
  context how = default_context();
  const auto comes = [&](const progress_event&) { test::write_file(path, "of another"); };
  how.progress = comes;
  const save_options once{.overwrite = false, .format = safetensors::format{}};
  const auto refused = save(path, {{"w", w}}, once, how);
  REQUIRE(!refused);
  CHECK(refused.failure().code == errc::already_exists);
  CHECK(test::read_file(path) == "of another");
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);  // nothing is left of ours
  fs::remove(path);
  REQUIRE(save(path, {{"w", w}}, once));
  CHECK(save(path, {{"w", w}}, once).failure().code == errc::already_exists);
  // Over what is a directory, or another file, it is never written.
  fs::create_directories(dir / "d.safetensors");
  test::write_file(dir / "d.safetensors/a.txt", "of another");
  test::write_file(dir / "t.safetensors", "a text");
  for (const char* name : {"d.safetensors", "t.safetensors"}) {
    const auto not_ours = save(dir / name, {{"w", w}}, {.format = safetensors::format{}});
    REQUIRE(!not_ours);
    CHECK(not_ours.failure().code == errc::already_exists);
    CHECK(has(not_ours.failure().message, "nothing was changed"));
  }
}

TEST_CASE("a save as safetensors has elements of a device on the host one leaf at a time") {
  const temp_directory dir;
  zarrpoint_test::fake_device device(0);
  constexpr std::size_t count = std::size_t{1} << 18, leaf_bytes = 4 * count;
  std::vector<zarrpoint_test::device_tensor<float>> there;
  std::vector<leaf> leaves;
  std::vector<std::vector<float>> values;  // they are copied from when the device gets to it
  for (int i = 0; i < 6; ++i) {
    values.emplace_back(count, static_cast<float>(i));
    there.emplace_back(zarrpoint_test::fake_space{&device, 0}, std::vector<std::size_t>{count});
    there.back().upload(values.back());
  }
  for (std::size_t i = 0; i < there.size(); ++i)
    leaves.emplace_back("w" + std::to_string(i), there[i]);
  for (const char* name : {"model.safetensors", "model"}) {
    CAPTURE(name);
    limited_resource memory(SIZE_MAX);
    context how = default_context();
    how.resource = &memory;
    std::uint64_t events = 0, done = 0, total = 0;
    const auto note = [&](const progress_event& now) {
      ++events;
      done = now.bytes_done;
      total = now.bytes_total;
    };
    how.progress = note;
    REQUIRE(save(dir / name, leaves, {.sync = false, .format = safetensors::format{}}, how));
    CHECK(events > 2);
    CHECK(done == 6 * leaf_bytes);
    CHECK(total == done);
    CHECK(memory.peak() >= leaf_bytes);
    CHECK(memory.peak() <= 2 * leaf_bytes);  // all at once are six
    const auto ckpt = open(dir / name, all_formats()).value();
    CHECK(ckpt.load<std::vector<float>>("w5").value() == std::vector<float>(count, 5));
  }
}

TEST_CASE("what one process has wrong before a save can begin is an error on all") {
  const temp_directory dir;
  const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<void> {
    std::vector<float> rows{1, 2};
    const any_communicator ranks = self;
    const auto w = shard("w", rows, {.offsets = {{0, ranks.rank(), ranks.size()}}}).value();
    const std::vector<sharded_tensor> shards{w};
    const auto other = [&](any_writable_format right, any_writable_format wrong) {
      return save_options{.sync = false, .format = self.rank() == 1 ? wrong : right};
    };
    auto tree = orbax::save(dir / "o", ranks, shards, {}, other(orbax::format{}, dcp::format{}));
    auto torch = dcp::save(dir / "d", ranks, shards, {}, other({}, orbax::format{}));
    dcp::async_saves later(ranks);
    const auto scheduled =
        later.schedule(dir / "l", {shards, {}}, other({}, safetensors::format{}));
    for (const result<void>& one : {std::move(tree).transform([](const auto&) {}),
                                    std::move(torch).transform([](const auto&) {}), scheduled})
      if (one || !has(one.failure().message, "another format"))
        return error{errc::corrupt, one ? "saved" : to_string(one.failure())};
    return {};
  });
  for (const auto& one : done) CHECK(one);
  CHECK(fs::is_empty(dir.path()));
}

}  // namespace save_format_test
