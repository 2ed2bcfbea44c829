// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/shard_values.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

// Checkpoints of others where we save: what we cannot read is never replaced, and what is only
// named like theirs does not hide ours.

namespace megatron_foreign_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

const std::string torch_dist = R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1, )"
                               R"("common_backend": "torch", "common_backend_version": 1})";
const std::string readable = megatron::detail::to_json({});

store_key key(std::string_view text) { return store_key::parse(text).value(); }

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A store that cannot tell what is in it.
struct unlisted_store {
  memory_store base;

  auto open(const store_key& at) const { return base.open(at); }
  std::string describe(const store_key& at) const { return base.describe(at); }
  auto create(const store_key& at) const { return base.create(at); }
  auto put(const store_key& at, bytes_view bytes) const { return base.put(at, bytes); }
  auto erase(const store_key& at) const { return base.erase(at); }
  auto erase_all(const store_key& at) const { return base.erase_all(at); }
};

enum class kind { directory, memory, unlisted };

/// A place for one checkpoint, and what lies there.
struct place {
  test::temp_directory folder;
  memory_store memory;
  kind of;

  explicit place(kind which) : of(which) {}

  location where() const {
    if (of == kind::directory) return location(folder / "c");
    return of == kind::memory ? location(any_store(memory)) : location(unlisted_store{memory});
  }
  any_store store() const {
    if (of == kind::directory) return file_store::open(folder / "c", {.create = true}).value();
    return memory;
  }
  void put(std::string_view name, const std::string& text) const {
    REQUIRE(store().put(key(name), as_bytes(text)));
  }
  /// Empty for what is not there.
  std::string read(std::string_view name) const {
    const auto bytes = get(store(), key(name), 1 << 20).value();
    return bytes ? std::string(as_text(*bytes)) : std::string();
  }
};

process_group group_with(any_communicator ranks) {
  process_group out = group_of(std::move(ranks));
  out.known = megatron::strategies::table();
  return out;
}

enum class layout { ours, megatron };

/// Two ranks save halves of "w", which `seed` decides.
std::vector<result<save_report>> reports_of(const place& to, layout in, int seed) {
  return thread_world::run(2, [&](const thread_communicator& self) {
    const auto half =
        from_rank_offsets("w", {dtype_kind::float32, {2}}, {.offsets = {{0, self.rank(), 2}}})
            .value();
    group_save_options options;
    if (in == layout::megatron) options.sharded = strategy_choice("zarr", 1);
    return save(to.where(),
                state{{"w", with_values(half, static_cast<std::uint64_t>(seed))}, {"seed", seed}},
                group_with(self), options);
  });
}

std::string saved(const place& to, layout in, int seed) {
  return outcome(reports_of(to, in, seed));
}

/// "done" if one process finds there what `seed` decides.
std::string holds(const place& from, int seed) {
  const auto whole = from_rank_offsets("w", {dtype_kind::float32, {4}}, {}).value();
  // Their layout is found by listing it.
  const auto report =
      load(from.store(), state{{"w", sharded_tensor(whole)}}, group_with(single_process{}));
  if (!report) return to_string(report.failure());
  if (report->loaded.get<int>("seed").value_or(0) != seed) return "another seed";
  const std::string wrong =
      wrong_in(*report->loaded.find("w")->if_tensor(), static_cast<std::uint64_t>(seed));
  return wrong.empty() ? "done" : wrong;
}

TEST_CASE("megatron_foreign: a layout that the saver does not have is never replaced") {
  const std::string foreign[] = {
      torch_dist,
      megatron::detail::to_json({"zarr", 2, "torch", 1}),
      megatron::detail::to_json({"zarr", 1, "other", 1}),
      megatron::detail::to_json({"zarr", 1, "torch", 2}),
      R"({"sharded_backend": "zarr", "sharded_backend_version": 1, "common_backend": 3})",
      torch_dist.substr(0, 30),  // half of it
  };
  for (const std::string& text : foreign) {
    for (const kind where : {kind::directory, kind::memory, kind::unlisted}) {
      for (const bool beside_ours : {false, true}) {
        CAPTURE(text);
        CAPTURE(static_cast<int>(where));
        CAPTURE(beside_ours);
        const place at(where);
        if (beside_ours) REQUIRE(saved(at, layout::ours, 1) == "done");
        at.put("metadata.json", text);
        at.put("common.pt", "theirs");
        const auto is_refused = [&](const std::string& said) {
          CHECK(has(said, "already_exists: "));
          CHECK(has(said, "nothing was changed"));
          CHECK(at.read("metadata.json") == text);
          CHECK(at.read("common.pt") == "theirs");
          CHECK(at.read("zarr.json").empty() != beside_ours);
        };
        is_refused(saved(at, layout::megatron, 2));
        is_refused(saved(at, layout::ours, 2));
        const std::vector<float> w{1};
        const auto single = save(at.where(), {leaf("w", w)}, save_options{}, context{});
        is_refused(single ? "saved" : to_string(single.failure()));
        const auto careful =
            save(at.where(), {leaf("w", w)}, {.overwrite = false}, context{}).failure();
        CHECK(careful.code == errc::already_exists);
        CHECK(has(careful.message, "nothing was changed"));
        // It hides nothing of ours.
        if (beside_ours) CHECK(holds(at, 1) == "done");
      }
    }
  }
}

TEST_CASE("megatron_foreign: a file of that name is what it is, where nothing can be listed, too") {
  const std::string text = R"({"name": "my run"})";
  for (const layout in : {layout::ours, layout::megatron}) {
    const place at(kind::unlisted);
    at.put("metadata.json", text);
    CHECK(has(saved(at, in, 1), "is a directory with other files, not a"));
    CHECK(at.read("metadata.json") == text);
    CHECK(at.read("zarr.json").empty());
    // The pair of Megatron-Core's replaces its own.
    at.put("metadata.json", readable);
    at.put("common.pt", "theirs");
    CHECK((saved(at, in, 1) == "done") == (in == layout::megatron));
  }
}

TEST_CASE("megatron_foreign: a metadata.json that is kept beside ours does not hide it") {
  for (const kind where : {kind::directory, kind::memory}) {
    for (const std::string text : {R"({"name": "my run"})", "no JSON", "[1]", ""}) {
      CAPTURE(static_cast<int>(where));
      CAPTURE(text);
      const place at(where);
      REQUIRE(saved(at, layout::ours, 1) == "done");
      at.put("metadata.json", text);
      for (const int seed : {2, 3}) {
        const auto reports = reports_of(at, layout::ours, seed);
        REQUIRE(outcome(reports) == "done");
        for (const auto& one : reports) {
          CHECK(one->kept == std::vector<std::string>{"metadata.json"});
          CHECK(one->warnings.empty());
        }
        CHECK(at.read("metadata.json") == text);
        CHECK(holds(at, seed) == "done");
        CHECK(load_plain_tensors(at.where()).value().size() == 1);
      }
      // Of one process, which names no strategies.
      const std::vector<float> w{1, 2};
      REQUIRE(save(at.where(), {leaf("w", w)}, save_options{}, context{}));
      CHECK(load_plain_tensors(at.where()).value().at("w").size() == 2);
      // Their pair does not replace ours.
      CHECK(has(saved(at, layout::megatron, 4), "is a zarrpoint checkpoint, not a checkpoint of"));
      CHECK(at.read("metadata.json") == text);
    }
  }
}

TEST_CASE("megatron_foreign: beside a Zarr hierarchy of others what names strategies counts") {
  const std::string group = R"({"zarr_format": 3, "node_type": "group"})";
  const auto opened = [&](const std::string& text, const std::string& root) {
    const memory_store store;
    store.put(key("zarr.json"), as_bytes(root)).value();
    store.put(key("metadata.json"), as_bytes(text)).value();
    const auto out = open_sharded(store, group_with(single_process{}));
    return out ? std::string("opened") : to_string(out.failure());
  };
  for (const char* text : {R"({"name": "my run"})", "no JSON", "3"})
    CHECK(opened(text, group) == "opened");
  CHECK(has(opened(megatron::detail::to_json({"other_dist", 1, "torch", 1}), group),
            "(other_dist, 1)"));
  CHECK(has(opened(torch_dist, group), ".metadata"));  // which is not there
  CHECK(has(opened(readable, group), "common.pt"));    // which is not there
  // A damaged root may be one of ours: it is not passed over for what lies beside it.
  CHECK(opened(readable, "{").starts_with("corrupt: "));
}

TEST_CASE("megatron_foreign: of two checkpoints in one place neither is replaced") {
  for (const kind where : {kind::directory, kind::memory, kind::unlisted}) {
    CAPTURE(static_cast<int>(where));
    const place theirs(where), at(where);
    REQUIRE(saved(theirs, layout::megatron, 1) == "done");
    REQUIRE(saved(at, layout::ours, 2) == "done");
    // Megatron-Core saved into the directory of ours.
    for (const char* name : {"metadata.json", "common.pt"}) at.put(name, theirs.read(name));
    CHECK(holds(at, 2) == "done");
    CHECK(has(saved(at, layout::ours, 3), "is not only a zarrpoint checkpoint, but also a Mega"));
    CHECK(has(saved(at, layout::megatron, 3), "but also a zarrpoint checkpoint"));
    CHECK(holds(at, 2) == "done");
  }
}

/// Says what it may replace, and not which files that is.
struct silent_saver {
  static constexpr std::string_view name = "silent_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_sharded;
  static strategy_id companion() { return megatron::saver::companion(); }

  result<array_metadata> layout(const save_job& job, const planned_tensor& tensor) const {
    return megatron::saver{}.layout(job, tensor);
  }
  result<message> write(const save_job& job, const shard_writes& mine) const {
    return megatron::saver{}.write(job, mine);
  }
  result<void> finish(const save_job& job, const save_receipts& all) const {
    return megatron::saver{}.finish(job, all);
  }
  result<bool> is_checkpoint(const any_store& root) const {
    return megatron::saver{}.is_checkpoint(root);
  }
};

TEST_CASE("megatron_foreign: what is removed without a name is warned of") {
  for (const kind where : {kind::directory, kind::memory, kind::unlisted}) {
    CAPTURE(static_cast<int>(where));
    const place at(where);
    const auto run = [&] {
      const auto reports = thread_world::run(2, [&](const thread_communicator& self) {
        return save(at.where(), state{{"step", 1}}, group_with(self), {.sharded = silent_saver{}});
      });
      REQUIRE(outcome(reports) == "done");
      CHECK(reports[0]->warnings == reports[1]->warnings);
      return reports[1]->warnings;
    };
    CHECK(run().empty());
    at.put("notes.txt", "mine");
    const auto warnings = run();
    REQUIRE(warnings.size() == 1);
    CHECK(has(warnings[0], "all that lay with the old checkpoint was removed"));
    CHECK(has(warnings[0], where == kind::unlisted ? "cannot list" : "silent_saver(zarr, 1)"));
    CHECK(at.read("notes.txt").empty());
  }
}

}  // namespace megatron_foreign_test
