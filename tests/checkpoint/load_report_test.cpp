// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/load_report.hpp>
#include <zarrpoint/members.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_device.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace load_report_test {

using namespace zarrpoint;

namespace {

struct layer {
  std::vector<float> w;
  std::vector<float> b;
  struct zarrpoint_handler {
    static auto members(layer& self) { return zarrpoint::members("w", self.w, "b", self.b); }
    static auto members(const layer& self) { return zarrpoint::members("w", self.w, "b", self.b); }
  };
};

memory_store saved() {
  memory_store store;
  const std::vector<float> w(1000, 1);
  const std::vector<float> b{1, 2};
  REQUIRE(
      save(store, {{"layers/w", w}, {"layers/b", b}, {"step", std::int64_t{7}}, {"note", "on"}}));
  return store;
}

std::vector<std::string> names_in(const load_report& report) {
  std::vector<std::string> out;
  for (const leaf_load_report& one : report.leaves) out.push_back(one.name);
  std::sort(out.begin(), out.end());
  return out;
}

const leaf_load_report& row(const load_report& report, const std::string& name) {
  for (const leaf_load_report& one : report.leaves) {
    if (one.name == name) return one;
  }
  FAIL("no row of ", name);
  return report.leaves.front();
}

const std::vector<std::string> all_names{"layers/b", "layers/w", "note", "step"};

/// Rules of which the second one alone has no effect.
const std::vector<load_rule> rules{{.glob = "layers/*"}, {.glob = "layer/*"}};
const std::vector<std::string> lost{"the rule for \"layer/*\" matches no leaf"};

template <class T>
void check_refused(const result<T>& done) {
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == errc::invalid_argument);
  CAPTURE(done.failure().message);
  CHECK(done.failure().message.find(lost[0]) != std::string::npos);
}

}  // namespace

TEST_CASE("a report has each leaf of a load of all, and their sums") {
  const checkpoint from = open(saved()).value();
  load_report report;
  REQUIRE(load_all(from, {.report = &report}));
  CHECK(names_in(report) == all_names);
  CHECK(report.warnings.empty());
  std::uint64_t stored = 0;
  std::uint64_t bytes = 0;
  for (const leaf_load_report& one : report.leaves) {
    CHECK(one.stored_bytes == from.metadata(one.name)->stored_bytes);
    stored += one.stored_bytes.value_or(0);
    bytes += one.bytes;
    CHECK(one.seconds >= 0);
    CHECK(one.seconds <= report.seconds);
  }
  CHECK(row(report, "layers/w").bytes == 4000);
  CHECK(row(report, "layers/w").loaded == tensor_spec{dtype_kind::float32, {1000}});
  CHECK(report.bytes == bytes);
  CHECK(report.stored_bytes == stored);
  CHECK(stored > 4000);
}

TEST_CASE("a report has what was asked for: a part, a cast, a shape, a place; loads add to it") {
  const checkpoint from = open(saved()).value();
  load_report report;
  REQUIRE(from.load<std::vector<float>>("layers/w", box({8}, {4}), {.report = &report}));
  CHECK(report.leaves.at(0).bytes == 16);
  CHECK(report.leaves.at(0).loaded == tensor_spec{dtype_kind::float32, {4}});
  REQUIRE(from.load<std::vector<double>>(
      "layers/w", {.cast = true, .rules = {{.shape = dims{10}}}, .report = &report}));
  CHECK(report.leaves.at(1).loaded == tensor_spec{dtype_kind::float64, {10}});
  std::array<float, 2> b{};
  REQUIRE(from.load_into("layers/b", std::span(b), {.report = &report}));
  REQUIRE(from.load_into("layers/w", box({1}, {2}), std::span(b), {.report = &report}));
  REQUIRE(from.load<std::string>("note", {.report = &report}));
  REQUIRE(from.load_async<std::int64_t>("step", {.report = &report}).get());
  REQUIRE(load_into_all(from, {{"layers/b", std::span(b)}}, {.report = &report}));
  REQUIRE(from.load_any<default_types>("layers/b", {.report = &report}));
  REQUIRE(from.load<std::vector<float>>("layers/b", place<host_space>{}, {.report = &report}));
  REQUIRE(from.load<layer>("layers", {.report = &report}));
  std::vector<std::uint64_t> bytes;
  for (const leaf_load_report& one : report.leaves) bytes.push_back(one.bytes);
  CHECK(bytes == std::vector<std::uint64_t>{16, 80, 8, 8, 0, 8, 8, 8, 8, 4000, 8});
  const load_report copy = report;
  CHECK(copy.leaves.size() == 11);
}

TEST_CASE("a report has leaves that go to devices, together and alone") {
  using zarrpoint_test::fake_space;
  using on_device = zarrpoint_test::device_tensor<float>;
  using types = default_types::with<bind<on_device>>;
  zarrpoint_test::fake_device device(1);
  const fake_space space{&device, device.new_stream()};
  const checkpoint from = open(saved()).value();
  load_report report;
  {
    REQUIRE(load_all<types>(from, {.report = &report}, {.space = space}));
    CHECK(names_in(report) == all_names);
    CHECK(row(report, "layers/w").loaded == tensor_spec{dtype_kind::float32, {1000}});
    REQUIRE(from.load<on_device>("layers/b", {.space = space}, {.report = &report}));
    CHECK(report.leaves.back().bytes == 8);
  }
  CHECK(report.leaves.size() == 5);
}

TEST_CASE("a rule that matches no leaf is a warning of a report, once, and an error on request") {
  const checkpoint from = open(saved()).value();
  load_report report;
  const load_options told{.rules = rules, .report = &report};
  REQUIRE(load_all(from, told));
  REQUIRE(from.load<std::vector<float>>("layers/b", told));
  CHECK(report.warnings == lost);
  load_options strict{.rules = rules, .rules_must_match = true};
  std::array<float, 2> b{};
  check_refused(load_all(from, strict));
  check_refused(from.load<std::vector<float>>("layers/b", strict));
  check_refused(from.load<std::vector<float>>("layers/b", box({0}, {1}), strict));
  check_refused(from.load<std::string>("note", strict));
  check_refused(from.load_into("layers/b", std::span(b), strict));
  check_refused(load_into_all(from, {{"layers/b", std::span(b)}}, strict));
  check_refused(from.load<layer>("layers", strict));
  // Of another leaf is enough.
  strict.rules = {{.glob = "layers/*"}, {.glob = "n?te"}};
  CHECK(load_all(from, strict));
  CHECK(from.load<std::vector<float>>("layers/b", strict));
  CHECK(from.load<layer>("layers", strict));
}

TEST_CASE("a report of several checkpoints compares the rules with the names of each") {
  load_report report;
  const load_options told{.rules = {{.glob = "layers/*"}}, .report = &report};
  REQUIRE(load_all(open(saved()).value(), told));
  CHECK(report.warnings.empty());
  // It may lie where the one before lay.
  memory_store other;
  REQUIRE(save(other, {{"step", std::int64_t{8}}}));
  REQUIRE(load_all(open(other).value(), told));
  CHECK(report.warnings.size() == 1);
}

TEST_CASE("a save takes the same option, and writes nothing then") {
  const test::temp_directory dir;
  const std::string place = (dir.path() / "m.zarr").string();
  const result<save_report> done =
      save(place, {{"w", 1}}, {.rules = {{.glob = "v"}}, .rules_must_match = true});
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == errc::invalid_argument);
  CHECK(done.failure().message.find("the rule for \"v\" matches no leaf") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(place));
  CHECK(save(place, {{"w", 1}}, {.rules = {{.glob = "w"}}, .rules_must_match = true}));
}

TEST_CASE("a leaf that fails is not in the report, and the others are") {
  const checkpoint from = open(saved()).value();
  load_report report;
  CHECK_FALSE(from.load<std::vector<double>>("layers/w", {.report = &report}));
  CHECK_FALSE(from.load<std::vector<double>>("gone", {.report = &report}));
  CHECK(report.leaves.empty());
  CHECK(from.load<std::vector<float>>("layers/w", {.report = &report}));
  CHECK(names_in(report) == std::vector<std::string>{"layers/w"});
}

}  // namespace load_report_test
