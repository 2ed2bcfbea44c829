// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/trace.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace trace_test {

using namespace zarrpoint;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct seen_trace {
  std::map<std::string, std::uint64_t> bytes;  ///< by phase
  std::vector<std::string> items;
  std::string wrong;
};

/// Reads a file as a viewer does: each lane is a stack.
seen_trace read_trace(const std::string& path, std::int64_t process) {
  seen_trace out;
  const json all = parse_json(as_bytes(text_of(path))).value();
  std::map<std::int64_t, std::vector<std::string>> open;
  double last = 0;
  for (const json& one : *all.if_array()) {
    if (*one.find("pid")->to_int64() != process) out.wrong += "pid; ";
    const std::string kind = *one.find("ph")->if_string();
    if (kind == "M") continue;
    const double at = *one.find("ts")->if_double();
    if (at < last) out.wrong += "time; ";
    last = at;
    const std::string name = *one.find("name")->if_string();
    auto& lane = open[*one.find("tid")->to_int64()];
    if (kind == "B") {
      lane.push_back(name);
      const json& about = *one.find("args");
      out.items.push_back(*about.find("item")->if_string());
      out.bytes[name] += static_cast<std::uint64_t>(*about.find("bytes")->to_int64());
    } else if (kind != "E" || lane.empty() || lane.back() != name) {
      out.wrong += kind + " " + name + "; ";
    } else {
      lane.pop_back();
    }
  }
  for (const auto& [thread, lane] : open)
    if (!lane.empty()) out.wrong += "open; ";
  return out;
}

}  // namespace

TEST_CASE("trace_file: a save and a load, as JSON whose begins and ends match") {
  const test::temp_directory folder;
  const std::string path = folder / "trace.json";
  const std::vector<float> w(3'000'000, 1);
  auto trace = trace_file::create(path, 3).value();
  context how = default_context();
  how.observer = trace.get();
  const save_report report =
      save(folder / "model.zarr", {{"w", w}}, {.rules = {{.codecs = zstd_codecs()}}}, how).value();
  REQUIRE(open(folder / "model.zarr", how).value().load<std::vector<float>>("w"));
  REQUIRE(trace->close());
  trace->begin({phase::read, "late"});  // is left out
  REQUIRE(trace->close());
  const seen_trace seen = read_trace(path, 3);
  CHECK(seen.wrong == "");
  CHECK(seen.bytes.at("encode") == report.bytes);
  CHECK(seen.bytes.at("write") == report.stored_bytes);
  CHECK(seen.bytes.at("place") == report.bytes);
  for (const char* one : {"plan", "sync", "commit", "read", "verify", "decode"})
    CHECK(seen.bytes.contains(one));
}

TEST_CASE("trace_file: names are escaped, whatever is in them") {
  using namespace std::string_literals;
  const test::temp_directory folder;
  const std::string path = folder / "trace.json";
  const std::string hostile =
      "\"},{\"ph\":\"E\\\n\r\t\0\x01\x7f</script>\xff\xc3(\xf0\x9f\x98\x80"s;
  const std::string large(1'000'000, '"');
  {
    const auto trace = trace_file::create(path).value();
    for (const std::string& name : {hostile, large, std::string()}) {
      trace->begin({phase::read, name, UINT64_MAX >> 1, 2});
      trace->end({phase::read, name, UINT64_MAX >> 1, 2});
    }
  }  // ends the file, too
  const seen_trace seen = read_trace(path, 0);
  CHECK(seen.wrong == "");
  REQUIRE(seen.items.size() == 3);
  CHECK(seen.items[0].find("\"},{\"ph\":\"E\\\n\r\t") == 0);
  CHECK(seen.items[0].find("\xff") == std::string::npos);
  CHECK(seen.items[1] == large);
}

TEST_CASE("trace_file: many threads, each in a lane of its own") {
  const test::temp_directory folder;
  const std::string path = folder / "trace.json";
  const auto trace = trace_file::create(path).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&trace] {
      for (int i = 0; i < 500; ++i) {
        trace->begin({phase::place, "w", 2});
        trace->begin({phase::read, "w", 1});
        trace->end({phase::read, "w", 1});
        trace->end({phase::place, "w", 2});
      }
    });
  }
  for (std::thread& one : threads) one.join();
  REQUIRE(trace->close());
  const seen_trace seen = read_trace(path, 0);
  CHECK(seen.wrong == "");
  CHECK(seen.bytes.at("place") == 4000);
}

TEST_CASE("trace_file: what cannot be written is told, and does not fail a save") {
  const test::temp_directory folder;
  CHECK(trace_file::create(folder / "no/such/trace.json").failure().code == errc::not_found);
  if (!std::filesystem::exists("/dev/full")) return;
  const std::vector<float> w(1000, 1);
  auto trace = trace_file::create("/dev/full").value();
  context how = default_context();
  how.observer = trace.get();
  CHECK(save(folder / "model.zarr", {{"w", w}}, {}, how));
  CHECK(trace->close().failure().code == errc::io);
}

}  // namespace trace_test
