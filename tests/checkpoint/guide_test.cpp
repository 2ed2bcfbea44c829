// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/guide.md; tests/tools/check_links.py compares the two.

#include <zarrpoint/load_report.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/trace.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace guide_test {

namespace zp = zarrpoint;

namespace {

std::vector<float> numbers(std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i) / 8;
  return out;
}

}  // namespace

TEST_CASE("the guide: saving and loading") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  const std::vector<float> w = numbers(6);
  std::int64_t step = 1200;

  zp::save(path, {{"layers/0/w", w}, {"step", step}, {"note", "warm start"}}).value();

  auto ckpt = zp::open(path).value();
  auto loaded = ckpt.load<std::vector<float>>("layers/0/w").value();  // makes one
  std::vector<float> mine(6);
  ckpt.load_into("layers/0/w", std::span<float>(mine)).value();  // fills yours
  auto view = ckpt.view<float>("layers/0/w").value();            // maps the file
  auto known = ckpt.metadata("layers/0/w").value();              // reads no data
  auto few = ckpt.load<std::vector<float>>("layers/0/w", zp::box({2}, {3})).value();  // a part
  ckpt.load_into("layers/0/w", zp::box({2}, {3}), std::span<float>(few)).value();
  auto array = ckpt.as_array("layers/0/w").value();                    // boxes of it:
  zp::tensor middle = array.read(zp::box({2}, {3})).value();           // elements 2, 3 and 4
  zp::tensor even = array.read(zp::selection({0}, {3}, {2})).value();  // elements 0, 2 and 4

  CHECK(loaded == w);
  CHECK(mine == w);
  CHECK(few == std::vector<float>{w[2], w[3], w[4]});
  CHECK(view.is_zero_copy());
  CHECK(known.spec == zp::tensor_spec{zp::dtype_kind::float32, {6}});
  CHECK(middle.data<float>()[2] == w[4]);
  CHECK(even.data<float>()[2] == w[4]);
  CHECK(ckpt.load<std::string>("note").value() == "warm start");
}

TEST_CASE("the guide: attributes") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  const std::vector<float> w = numbers(6);

  const zp::save_options with{
      .attributes = zp::json::object{{"optimizer", "adam"}},
      .attributes_of = {{"layers/0", zp::json::object{{"activation", "relu"}}},
                        {"layers/0/w", zp::json::object{{"unit", "m"}}}}};
  zp::save(path, {{"layers/0/w", w}}, with).value();
  auto opened = zp::open(path).value();
  auto unit = opened.attributes("layers/0/w").value();  // {"unit": "m"}
  auto layer = opened.attributes("layers/0").value();   // {"activation": "relu"}

  CHECK(unit == zp::json(zp::json::object{{"unit", "m"}}));
  CHECK(layer == zp::json(zp::json::object{{"activation", "relu"}}));
  CHECK(*opened.attributes().find("optimizer") == zp::json("adam"));
}

TEST_CASE("the guide: options by leaf") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  const std::vector<float> moments = numbers(5);
  zp::tensor embedding = zp::tensor::make({zp::dtype_kind::float32, {2048, 512}}).value();
  for (float& value : embedding.data<float>()) value = 0.5F;
  const std::vector<zp::leaf> leaves{{"embedding", embedding}, {"optimizer/adam/v", moments}};

  const zp::leaf_rule all{.codecs = {"bytes", {"zstd", 3}, "crc32c"}};  // or zp::zstd_codecs(3)
  const zp::leaf_rule some{.glob = "optimizer/**", .cast = zp::dtype(zp::dtype_kind::bfloat16)};
  const zp::leaf_rule one{.glob = "**/embedding", .chunk_shape = {1024, 512}};
  auto report = zp::save(path, leaves, {.rules = {all, some, one}, .overwrite = false}).value();

  for (const std::string& warning : report.warnings) std::puts(warning.c_str());
  for (const zp::leaf_report& one : report.leaves)
    std::printf("%s: %.0f of %.0f bytes, %.3f s\n", one.name.c_str(),
                static_cast<double>(one.stored_bytes), static_cast<double>(one.bytes), one.seconds);

  CHECK(report.leaves[1].stored.type == zp::dtype_kind::bfloat16);
  CHECK(report.bytes == report.leaves[0].bytes + report.leaves[1].bytes);
  CHECK(report.stored_bytes < report.bytes);
  CHECK(report.leaves[0].stored_bytes < report.leaves[0].bytes);
  CHECK(report.warnings.size() == 1);  // of bfloat16
  CHECK(report.kept.empty());
  CHECK(report.blocked_seconds <= report.seconds);
  CHECK(report.pin_seconds == 0);
  auto ckpt = zp::open(path).value();
  CHECK(report.id == ckpt.id());
  auto known = ckpt.metadata("optimizer/adam/v").value();  // reads no data
  if (known.typestr == "array" && known.spec.type == zp::dtype_kind::bfloat16)
    std::printf("%s is %.0f bytes\n", to_string(known.spec).c_str(),
                static_cast<double>(known.stored_bytes.value_or(0)));
  CHECK(known.stored_bytes == report.leaves[1].stored_bytes);
  CHECK(ckpt.metadata("embedding").value().chunk_shape == zp::dims{1024, 512});
  CHECK(ckpt.metadata("optimizer/adam/v").value().codecs == zp::zstd_codecs(3));

  auto wide = ckpt.load<std::vector<double>>("optimizer/adam/v", {.cast = true}).value();
  const zp::load_rule cut{.glob = "**/embedding", .shape = {2000, 512}};
  auto rows = ckpt.load<zp::tensor>("embedding", {.rules = {cut}}).value();

  zp::load_report told;
  auto everything = zp::load_all(ckpt, {.report = &told}).value();
  std::printf("%zu leaves in %.3f s\n", told.leaves.size(), told.seconds);
  for (const std::string& warning : told.warnings) std::puts(warning.c_str());
  CHECK(told.leaves.size() == everything.size());

  CHECK(wide[1] == 0.125);
  CHECK(rows.shape() == zp::dims{2000, 512});
}

TEST_CASE("the guide: how") {
  std::uint64_t bytes = 0;
  const auto draw = [&](std::uint64_t done, std::uint64_t) { bytes = done; };

  zp::thread_pool pool(4);
  zp::stop_source stop;
  zp::context how{
      .executor = pool.executor(),
      .limit = {.bytes_in_flight = 64 << 20, .memory = 2U << 30},
      .stop = stop.token(),
      .progress = [&](const zp::progress_event& e) { draw(e.bytes_done, e.bytes_total); }};

  zp::memory_store store;
  zp::save(store, {{"w", numbers(100)}}, {}, how).value();
  CHECK(bytes == 400);
  CHECK(zp::open(store, how).value().load<std::vector<float>>("w").value() == numbers(100));
}

TEST_CASE("the guide: in the background") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  std::vector<float> w = numbers(6);
  const auto train = [](std::vector<float>& weights) {
    for (float& each : weights) each += 1;
  };

  std::vector<float> snapshot(w.size());  // made once: later copies need no new pages
  zp::thread_pool few(1);                 // fewer threads than the training has
  zp::pending<zp::save_report> saving;
  for (int step = 1; step <= 3; ++step) {
    train(w);
    if (saving.valid()) saving.get().value();  // the save before is done, and well
    std::copy(w.begin(), w.end(), snapshot.begin());
    saving =
        zp::save_async(path, {{"w", snapshot}, {"step", step}}, {}, {.executor = few.executor()});
  }
  saving.get().value();  // waits

  auto ckpt = zp::open(path).value();
  CHECK(ckpt.load<std::vector<float>>("w").value() == w);
  CHECK(ckpt.load<int>("step").value() == 3);
}

struct phase_times final : zp::phase_observer {
  void begin(const zp::phase_event&) noexcept override { running.fetch_add(1); }
  void end(const zp::phase_event& done) noexcept override {
    running.fetch_sub(1);
    if (done.what == zp::phase::write) written.fetch_add(done.bytes);
  }
  std::atomic<int> running{0};
  std::atomic<std::uint64_t> written{0};
};

TEST_CASE("the guide: what happens when") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  const std::vector<float> w = numbers(6);

  auto trace = zp::trace_file::create(dir / "trace.json").value();
  zp::context how = zp::default_context();
  how.observer = trace.get();
  zp::save(path, {{"w", w}}, {}, how).value();
  auto again = zp::open(path, how).value().load<std::vector<float>>("w").value();
  trace->close().value();

  CHECK(again == w);
  CHECK(test::read_file(dir / "trace.json").find("\"commit\"") != std::string::npos);
  phase_times times;
  how.observer = &times;
  const auto report = zp::save(path, {{"w", w}}, {}, how).value();
  CHECK(times.running == 0);
  CHECK(times.written == report.stored_bytes);
}

TEST_CASE("the guide: errors") {
  const test::temp_directory dir;
  auto opened = zp::open(dir / "no.zarr");
  if (!opened && opened.failure().code == zp::errc::not_found) {
    const zp::error& failure = opened.failure();
    CHECK(zp::to_string(failure).find("no.zarr") != std::string::npos);
  }
  REQUIRE_FALSE(opened);
}

TEST_CASE("the guide: verifying") {
  const test::temp_directory dir;
  const std::string path = dir / "model.zarr";
  zp::save(path, {{"w", numbers(6)}, {"b", numbers(3)}}).value();
  const std::string file = path + "/w/c.0";
  std::string damaged = test::read_file(file);
  damaged[5] = static_cast<char>(damaged[5] ^ 1);
  test::write_file(file, damaged);
  int faults = 0;
  std::vector<std::string> intact;

  auto report = zp::verify(zp::open(path).value()).value();
  for (const zp::verify_failure& each : report.failures)
    std::puts((each.file + ": " + zp::to_string(each.what)).c_str());
  if (report.result() != zp::verdict::ok) {
    faults = static_cast<int>(report.failure_count);
  }
  for (const zp::leaf_verification& one : report.leaves) {
    if (one.result == zp::verdict::ok) intact.push_back(one.name);
  }

  CHECK(faults == 1);
  CHECK(report.failures[0].leaf == "w");
  CHECK(report.failures[0].is_fault);
  CHECK(report.failures[0].key == "c.0");
  CHECK_FALSE(report.failures[0].chunk.has_value());  // there is no shard
  CHECK(intact == std::vector<std::string>{"b"});
  CHECK(report.leaves[0].chunks == 1);
  CHECK(report.leaves[0].bytes == 12);
  CHECK(report.result() == zp::verdict::faulty);
}

TEST_CASE("the guide: safetensors") {
  const test::temp_directory dir;
  const std::string from = dir / "model.safetensors";
  const std::string to = dir / "copy.safetensors";
  const std::vector<float> w = numbers(6);
  const zp::host_view elements = zp::dense_view(reinterpret_cast<const std::byte*>(w.data()),
                                                {zp::dtype_kind::float32, {2, 3}});
  zp::safetensors::save(from, std::vector<zp::safetensors::named_view>{{"conv1.weight", elements}})
      .value();

  auto file = zp::safetensors::open(from).value();  // checks all of the header, maps the data
  auto view = file.view("conv1.weight").value();    // a host_view into the mapping

  zp::safetensors::named_view out[] = {{"conv1.weight", view}};
  zp::safetensors::save(to, out, {{"format", "pt"}}).value();  // whole, or the old file stays

  const std::string model = dir / "model";
  const zp::safetensors::format as{.max_file_bytes = 2'000'000'000};
  auto report = zp::safetensors::save_files(model, out, {.format = as}).value();
  for (const std::string& name : report.files) std::puts(name.c_str());

  CHECK(report.files == std::vector<std::string>{"model-00001-of-00001.safetensors"});
  CHECK(zp::safetensors::open(to).value().metadata().at("format") == "pt");
  zp::save(dir / "model.zarr", {{"conv1/weight", view}}).value();
  CHECK(zp::open(dir / "model.zarr")
            .value()
            .load<zp::tensor>("conv1/weight")
            .value()
            .data<float>()[5] == w[5]);
}

}  // namespace guide_test
