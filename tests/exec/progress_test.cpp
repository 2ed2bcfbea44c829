// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/progress.hpp>
#include <zarrpoint/exec/progress_meter.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace progress_test {

namespace zp = zarrpoint;

namespace {

struct seen_event {
  std::string phase;
  std::string item;
  std::uint64_t done;
  std::uint64_t total;
};

zp::progress_callback record(std::vector<seen_event>& into) {
  return [&into](const zp::progress_event& event) {
    into.push_back(
        {std::string(event.phase), std::string(event.item), event.bytes_done, event.bytes_total});
  };
}

}  // namespace

TEST_CASE("progress_meter: the first and the last, with their texts") {
  std::vector<seen_event> events;
  const zp::progress_callback meter_told = record(events);
  zp::progress_meter meter(&meter_told, "write", 1000);
  meter.add("a", 100);
  meter.add("b", 900);
  REQUIRE(events.size() == 2);
  CHECK(events[0].phase == "write");
  CHECK(events[0].item == "a");
  CHECK(events[0].done == 100);
  CHECK(events[0].total == 1000);
  CHECK(events[1].item == "b");
  CHECK(events[1].done == 1000);
}

TEST_CASE("progress_meter: nobody listens") {
  zp::progress_meter meter(nullptr, "write", 10);
  meter.add("a", 10);
}

TEST_CASE("progress_meter: steps of a percent, the last one whole") {
  std::vector<seen_event> events;
  constexpr std::uint64_t total = 100000;
  const zp::progress_callback meter_told = record(events);
  zp::progress_meter meter(&meter_told, "read", total);
  for (std::uint64_t i = 0; i < total; ++i) meter.add("x", 1);
  REQUIRE(events.size() >= 100);
  CHECK(events.size() < total / 2);  // time steps add few, however slow the machine
  CHECK(events.front().done == 1);
  CHECK(events.back().done == total);
  for (std::size_t i = 1; i < events.size(); ++i) CHECK(events[i].done > events[i - 1].done);
}

TEST_CASE("progress_meter: totals that are nothing, or wrong") {
  std::vector<seen_event> events;
  const zp::progress_callback nothing_told = record(events);
  zp::progress_meter nothing(&nothing_told, "read", 0);
  nothing.add("x", 0);
  REQUIRE(events.size() == 1);
  CHECK(events[0].done == 0);

  events.clear();
  const zp::progress_callback exceeded_told = record(events);
  zp::progress_meter exceeded(&exceeded_told, "read", 10);
  exceeded.add("x", 30);
  exceeded.add("y", 30);
  REQUIRE(events.size() == 2);
  CHECK(events[1].done == 60);
}

TEST_CASE("progress_meter: from many threads one at a time, never less than before") {
  std::vector<seen_event> events;  // not locked: TSan would see two calls at a time
  constexpr std::uint64_t total = 4 * 5000;
  const zp::progress_callback meter_told = record(events);
  zp::progress_meter meter(&meter_told, "read", total);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&meter, t] {
      const std::string item = "leaf " + std::to_string(t);
      for (int i = 0; i < 5000; ++i) meter.add(item, 1);
    });
  }
  for (std::thread& each : threads) each.join();
  REQUIRE(!events.empty());
  CHECK(events.back().done == total);
  for (std::size_t i = 1; i < events.size(); ++i) CHECK(events[i].done > events[i - 1].done);
}

}  // namespace progress_test
