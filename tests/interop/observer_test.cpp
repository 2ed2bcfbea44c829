// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/load_report.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/failing_store.hpp"
#include "support/phase_recorder.hpp"
#include "support/shard_values.hpp"
#include "support/strided_device.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace observer_test {

using namespace zarrpoint;
using test::phase_recorder;

namespace {

static_assert(noexcept(std::declval<phase_observer&>().begin({})));

const std::vector<float> w(3'000'000, 0.5F);
const std::vector<double> b(70'000, 2);

std::vector<leaf> leaves() { return {{"layers/w", w}, {"layers/b", b}, {"step", 7}}; }

context told_to(phase_observer& by) {
  context out = default_context();
  out.observer = &by;
  return out;
}

save_options with_codecs() { return {.rules = {{.codecs = zstd_codecs()}}}; }

}  // namespace

TEST_CASE("observer: the phases of a save, whose bytes are those of its report") {
  const test::temp_directory folder;
  for (const bool sync : {true, false}) {
    CAPTURE(sync);
    phase_recorder seen;
    save_options options = with_codecs();
    options.sync = sync;
    const save_report report =
        save(folder / "model.zarr", leaves(), options, told_to(seen)).value();
    CHECK(seen.wrong() == "");
    CHECK(seen.of(phase::plan).count == 3);
    CHECK(seen.of(phase::encode).bytes == report.bytes);
    CHECK(seen.of(phase::write).bytes == report.stored_bytes);
    CHECK((seen.of(phase::sync).events > 0) == sync);
    CHECK(seen.of(phase::commit).events >= 5);  // a document for each array, the root's, the rename
    CHECK((seen.within(phase::commit, phase::sync) > 0) == sync);
    CHECK(seen.of(phase::stage).events == 0);
    CHECK(seen.of(phase::place).events == 0);
    CHECK(seen.has_item("layers/w"));
  }
}

TEST_CASE("observer: the phases of a load, whose bytes are those of its report") {
  memory_store store;
  for (const bool raw : {true, false}) {
    CAPTURE(raw);
    REQUIRE(save(store, leaves(), raw ? save_options{} : with_codecs()));
    for (const bool verify : {true, false}) {
      CAPTURE(verify);
      phase_recorder seen;
      load_report report;
      const checkpoint opened = zarrpoint::open(store, told_to(seen)).value();
      CHECK(seen.of(phase::plan).events == 1);
      CHECK(seen.of(phase::read).events == 0);
      REQUIRE(load_all(opened, {.verify = verify, .report = &report}));
      CHECK(seen.wrong() == "");
      CHECK(seen.of(phase::place).bytes == report.bytes);
      const phase_recorder::sum read = seen.of(phase::read);
      const bool is_whole = !raw || verify;  // else it is read by slabs
      if (is_whole) {
        // The rest of what is stored are the indexes of shards.
        CHECK(read.bytes <= report.stored_bytes);
        CHECK(read.bytes + 16 * read.count + 3 * 4 >= report.stored_bytes);
        CHECK(seen.within(phase::place, phase::read) == read.events);
      }
      CHECK(seen.of(phase::verify).bytes == (verify ? read.bytes : 0));
      if (raw) {
        CHECK(seen.of(phase::decode).bytes < read.bytes);  // at the edge alone
      } else {
        CHECK(seen.of(phase::decode).bytes == read.bytes);
      }
      CHECK(seen.of(phase::write).events == 0);
    }
  }
}

TEST_CASE("observer: a part, another type, and what is not stored") {
  memory_store store;
  const std::vector<float> zeros(4'000'000, 0);
  save_options options = with_codecs();
  options.elide_fill = true;
  REQUIRE(save(store, {{"w", zeros}}, options));
  phase_recorder seen;
  const checkpoint opened = zarrpoint::open(store, told_to(seen)).value();
  std::vector<double> into(4'000'000, 1);
  REQUIRE(opened.load_into("w", into, {.cast = true}));
  CHECK(seen.wrong() == "");
  CHECK(seen.of(phase::place).bytes == zeros.size() * sizeof(float));
  CHECK(seen.of(phase::read).events == 0);
}

TEST_CASE("observer: the end comes after a failure, too") {
  for (int writes = 0; writes < 12; ++writes) {
    CAPTURE(writes);
    const auto left = std::make_shared<std::atomic<int>>(writes);
    const zarrpoint_test::failing_store disk{memory_store(), left};
    phase_recorder seen;
    const auto saved =
        save(location(any_store(disk), store_key::root()), leaves(), with_codecs(), told_to(seen));
    if (saved) break;
    CHECK(seen.wrong() == "");
    CHECK(seen.of(phase::plan).events == 1);
  }
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  REQUIRE(save(path, {{"w", w}}));
  {
    std::fstream file(path + "/w/c.0", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5'000'000);
    file.put('x');
  }
  phase_recorder seen;
  const checkpoint opened = zarrpoint::open(path, told_to(seen)).value();
  CHECK(opened.load<std::vector<float>>("w").failure().code == errc::corrupt);
  CHECK(seen.wrong() == "");
  CHECK(seen.of(phase::verify).events > 0);
}

TEST_CASE("observer: a save in the background, of what a device has") {
  const test::temp_directory folder;
  zarrpoint_test::random_source random(1);
  zarrpoint_test::fake_device device(1);
  const dims shape{256, 256};
  zarrpoint_test::strided_device tensor(zarrpoint_test::fake_space{&device}, dtype_kind::float32,
                                        shape, zarrpoint_test::dense_layout(shape, 4), random);
  tensor.wait();
  phase_recorder seen;
  auto saving =
      save_async(folder / "model.zarr", {{"w", w}, {"d", tensor.view()}}, {}, told_to(seen));
  CHECK(seen.of(phase::stage).bytes == 256 * 256 * 4);
  const save_report report = saving.get().value();
  CHECK(seen.wrong() == "");
  CHECK(seen.of(phase::encode).bytes == report.bytes);
  CHECK(seen.of(phase::write).bytes == report.stored_bytes);
}

TEST_CASE("observer: a manager stages each tensor once") {
  const test::temp_directory folder;
  phase_recorder seen;
  auto manager = checkpoint_manager::open(folder / "run", {.how = told_to(seen)}).value();
  REQUIRE(manager.save(1, leaves()));
  REQUIRE(manager.close());
  const save_report report = manager.last_report().value();
  CHECK(seen.wrong() == "");
  CHECK(seen.of(phase::stage).bytes == w.size() * 4 + b.size() * 8 + sizeof(int));
  CHECK(seen.of(phase::encode).bytes == report.bytes);
  CHECK(seen.of(phase::write).bytes == report.stored_bytes);
}

TEST_CASE("observer: of many processes each tells of its own") {
  const test::temp_directory folder;
  constexpr int ranks = 3;
  std::vector<phase_recorder> seen(ranks);
  std::vector<std::uint64_t> bytes(ranks, 0);
  const auto shard = [](int rank) {
    return zarrpoint_test::with_values(
        from_rank_offsets("w", {dtype_kind::float32, {1000, 100}}, {.offsets = {{0, rank, ranks}}})
            .value(),
        7);
  };
  const auto results =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        process_group group = zarrpoint_test::group_of(self);
        const auto rank = static_cast<std::size_t>(self.rank());
        group.how.observer = &seen[rank];
        ZARRPOINT_TRY(report, save(folder / "model.zarr", state{{"w", shard(self.rank())}}, group));
        bytes[rank] = report.bytes;
        return {};
      });
  CHECK(zarrpoint_test::outcome(results) == "done");
  std::uint64_t encoded = 0, told = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    CHECK(seen[rank].wrong() == "");
    CHECK(seen[rank].of(phase::plan).events == 1);
    CHECK(seen[rank].of(phase::stage).events == 1);
    CHECK(seen[rank].of(phase::commit).events >= 1);
    encoded += seen[rank].of(phase::encode).bytes;
    told += bytes[rank];
  }
  CHECK(told == ranks * std::uint64_t{1000} * 100 * 4);
  CHECK(encoded == told + 2);  // the values that all have in common, which are none: "{}"
}

}  // namespace observer_test
