// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/strategy/write_shards.hpp>

#include "../support/executors.hpp"
#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace write_shards_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

constexpr int ranks = 3;

/// Two rows of "w" on each process, of which those of rank 0 are zero, and an object.
state state_of(int rank, int step) {
  std::vector<float> rows(8, static_cast<float>(rank == 0 ? 0 : 10 * step + rank));
  return state{{"w", shard("w", std::move(rows), {.offsets = {{0, rank, ranks}}}).value()},
               {"o", sharded_object::make("o", json_text{std::to_string(step)},
                                          {.global_shape = {ranks}, .global_offset = {rank}})
                         .value()},
               {"step", step}};
}

enum class lost { nothing, cell, object, all, receipt, name, writer, absent };

/// Ours, but one process leaves something out and says that all is well.
struct forgetful_saver : zarr_saver {
  lost what = lost::nothing;
  index_t who = 0;

  /// Of process `who` the digest of its cell is told by the one after it.
  result<message> write_for_another(const save_job& job, const shard_writes& mine) const {
    const index_t rank = mine.objects.front().global_offset()[0];
    ZARRPOINT_TRY(receipt, zarr_saver::write(job, mine));
    detail::digests_of_arrays said;
    ZARRPOINT_CHECK(detail::decode_digests(receipt, said));
    if (rank == who) said["w"] = {};
    if (rank == (who + 1) % ranks)
      said["w"].set("c/" + std::to_string(who), *said["w"].find("c/" + std::to_string(rank)));
    return detail::encode_digests(said);
  }

  result<message> write(const save_job& job, const shard_writes& mine) const {
    if (what == lost::writer) return write_for_another(job, mine);
    if (mine.objects.empty() || mine.objects.front().global_offset()[0] != who)
      return zarr_saver::write(job, mine);
    if (what == lost::receipt) return message{};
    if (what == lost::name) {
      ZARRPOINT_TRY(receipt, zarr_saver::write(job, mine));
      detail::digests_of_arrays said;
      ZARRPOINT_CHECK(detail::decode_digests(receipt, said));
      object_digest one = *said["w"].find("c/" + std::to_string(who));
      said["w"] = {};
      said["w"].set("c/3", std::move(one));
      return detail::encode_digests(said);
    }
    if (what == lost::absent) {
      ZARRPOINT_TRY(receipt, zarr_saver::write(job, mine));
      detail::digests_of_arrays said;
      ZARRPOINT_CHECK(detail::decode_digests(receipt, said));
      said["o"].set("c/" + std::to_string(who), {});
      return detail::encode_digests(said);
    }
    shard_writes rest = mine;
    if (what == lost::cell || what == lost::all) rest.arrays.clear();
    if (what == lost::object || what == lost::all) rest.objects.clear();
    return zarr_saver::write(job, rest);
  }
};

std::string save_with(const location& where, int step, lost what, index_t who, bool elide = false) {
  forgetful_saver saver;
  saver.what = what;
  saver.who = who;
  group_save_options how{.sharded = saver};
  how.storage.elide_fill = elide;
  return save_by(
      ranks, where, [&](int rank) { return state_of(rank, step); }, how);
}

int step_in(const location& where) {
  const auto loaded =
      load(where, state{{"w", sharded_tensor(state_of(0, 1).find("w")->if_tensor()->metadata())}},
           process_group{.how = context{}}, {.validate = false});
  return loaded ? loaded->loaded.get<int>("step").value_or(-1) : -1;
}

/// A digest of one object that has as many bytes as it has numbers.
object_digest some_digest() {
  object_digest out;
  out.size = 12;
  out.crc32c = {7U, std::nullopt};
  return out;
}

}  // namespace

TEST_CASE("write shards: what a process did not write is named before the commit, on all") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  REQUIRE(save_with(path, 1, lost::nothing, 0) == "done");
  const std::string not_written = "planned objects were not written, among them ";
  const std::string said = "corrupt: save " + path + ": rank 0: ";
  for (index_t who = 0; who < ranks; ++who) {
    CAPTURE(who);
    const std::string n = std::to_string(who);
    const std::string cell = "\"w\" c/" + n + " of rank " + n;
    const std::string object = "\"o\" c/" + n + " of rank " + n;
    for (const bool elide : {false, true}) {
      CHECK(save_with(path, 2, lost::cell, who, elide) == said + "1 of 6 " + not_written + cell);
      CHECK(save_with(path, 2, lost::object, who, elide) ==
            said + "1 of 6 " + not_written + object);
      CHECK(save_with(path, 2, lost::all, who, elide) ==
            said + "2 of 6 " + not_written + cell + ", " + object);
      // A process that did not have to write it cannot say that it is there; an object is never
      // left out.
      CHECK(save_with(path, 2, lost::writer, who, elide) == said + "1 of 6 " + not_written + cell);
      CHECK(save_with(path, 2, lost::absent, who, elide) ==
            said + "1 of 6 " + not_written + object);
    }
    CHECK(save_with(path, 2, lost::name, who) == said + "1 of 6 " + not_written + cell);
    CHECK(save_with(path, 2, lost::receipt, who).starts_with(said + "receipt of rank " + n + ": "));
    CHECK(step_in(path) == 1);
  }
  // A cell of zeros that is left out on purpose has a receipt that says so.
  CHECK(save_with(path, 3, lost::nothing, 0, true) == "done");
  CHECK(step_in(path) == 3);
}

TEST_CASE("write shards: receipts are compared with the plan") {
  std::vector<detail::digests_of_arrays> of_ranks(2);
  of_ranks[0]["w"].set("c/0", some_digest());
  of_ranks[1]["w"].set("c/1", {});
  for (const bool may_be_absent : {false, true}) {
    detail::receipt_check check(of_ranks);
    check.begin("w");
    check.look_for("c/0", 0, may_be_absent);
    check.look_for("c/1", 1, may_be_absent);
    CHECK(check.done().has_value() == may_be_absent);
    CHECK((may_be_absent || to_string(check.done().failure()) ==
                                "corrupt: 1 of 2 planned objects were not written, among them "
                                "\"w\" c/1 of rank 1"));
  }
  detail::receipt_check more(of_ranks);
  more.begin("w");
  more.look_for("c/0", 0, true);
  CHECK(to_string(more.done().failure()) == "corrupt: 2 objects were written instead of 1");
  for (const int other : {1, 2, -1}) {  // a receipt of another process, or of none
    detail::receipt_check wrong(of_ranks);
    wrong.begin("w");
    wrong.look_for("c/0", other, true);
    wrong.look_for("c/1", 1, true);
    CHECK(to_string(wrong.done().failure()) ==
          "corrupt: 1 of 2 planned objects were not written, among them \"w\" c/0 of rank " +
              std::to_string(other));
  }
  detail::receipt_check next(of_ranks);  // what was found of one array is not of the next
  next.begin("w");
  next.look_for("c/0", 0, true);
  next.begin("v");
  next.look_for("c/0", 0, true);
  CHECK_FALSE(next.done());
  const std::vector<detail::digests_of_arrays> none(9);
  detail::receipt_check many(none);
  many.begin("v");
  for (int rank = 0; rank < 9; ++rank) many.look_for("c", rank, true);
  CHECK(to_string(many.done().failure()) ==
        "corrupt: 9 of 9 planned objects were not written, among them \"v\" c of rank 0, \"v\" c "
        "of rank 1, \"v\" c of rank 2, \"v\" c of rank 3");
}

TEST_CASE("write shards: digests are told to rank 0, and damaged ones refused") {
  detail::digests_of_arrays digests;
  const object_digest one = some_digest();
  digests["w"].set("c/0", one);
  const message encoded = detail::encode_digests(digests);
  detail::digests_of_arrays back;
  REQUIRE(detail::decode_digests(encoded, back));
  REQUIRE(back["w"].find("c/0") != nullptr);
  CHECK(*back["w"].find("c/0") == one);
  const auto twice = detail::decode_digests(encoded, back);
  CHECK(to_string(twice.failure()) == "corrupt: \"c/0\" is there twice");
  for (std::size_t size = 0; size < encoded.size(); ++size) {
    detail::digests_of_arrays unused;
    CHECK_FALSE(detail::decode_digests(bytes_view(encoded).first(size), unused));
  }
}

TEST_CASE("write shards: each cell once, with its progress; an error says of which tensor") {
  planned_array array;
  array.tensor.key = "w";
  array.tensor.type = dtype_kind::float32;
  shard_writes mine;
  mine.arrays.push_back({&array, false, {}});
  for (index_t i = 0; i < 5; ++i) mine.arrays[0].cells.push_back({box{{i}, {3}}, {}, {}});
  std::uint64_t told = 0;
  context how;
  how.progress = [&](const progress_event& now) { told = now.bytes_done; };
  const auto write = [](const detail::cell_job& job) -> result<void> {
    job.digests.set("c/" + std::to_string(job.cell.part.offset[0]), some_digest());
    return {};
  };
  const auto digests = detail::write_cells(how, mine, write);
  REQUIRE(digests);
  REQUIRE(digests->size() == 1);
  CHECK(digests->at("w").objects().size() == 5);
  CHECK(told == 5 * 3 * 4);
  const auto failed = detail::write_cells(how, mine, [](const detail::cell_job& job) {
    return job.cell.part.offset[0] == 2 ? result<void>(error{errc::io, "no space"})
                                        : result<void>();
  });
  CHECK(to_string(failed.failure()) == "io: save \"w\": no space");
}

TEST_CASE("write shards: a cell that was refused memory is written again if it can be read again") {
  planned_array array;
  array.tensor.key = "w";
  array.tensor.type = dtype_kind::float32;
  context how;
  for (const bool reads_once : {false, true}) {
    shard_writes mine;
    mine.arrays.push_back({&array, false, {}});
    for (index_t i = 0; i < 4; ++i) {
      mine.arrays[0].cells.push_back({box{{i}, {1}}, {}, {}});
      mine.arrays[0].cells.back().reads_once = reads_once && i == 2;
    }
    std::atomic<int> tries = 0;
    const auto digests = detail::write_cells(how, mine, [&](const detail::cell_job& job) {
      return job.cell.part.offset[0] == 2 && tries++ == 0
                 ? result<void>(error{errc::resource_limit, "no memory"})
                 : result<void>();
    });
    CHECK(digests.has_value() == !reads_once);
    CHECK(tries == (reads_once ? 1 : 2));
    if (!digests) CHECK(to_string(digests.failure()) == "resource_limit: save \"w\": no memory");
  }
}

}  // namespace write_shards_test
