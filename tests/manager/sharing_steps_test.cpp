// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Steps that share what did not change.

#include <zarrpoint/distributed.hpp>
#include <zarrpoint/group_manager.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/verify.hpp>

#include "support/executors.hpp"
#include "support/sharing_cases.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

namespace sharing_steps_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using list = std::vector<std::int64_t>;

/// Fifty tensors, of which one, the `step`th, tells the step.
std::vector<std::vector<float>> model(std::int64_t step) {
  std::vector<std::vector<float>> out(50, std::vector<float>(20'000, 0.5F));
  for (std::size_t i = 0; i < out.size(); ++i) out[i][3] = static_cast<float>(i);
  for (std::int64_t i = 1; i <= step; ++i) out[static_cast<std::size_t>(i)][7] = 7;
  return out;
}

std::vector<leaf> leaves_of(const std::vector<std::vector<float>>& all) {
  std::vector<leaf> out;
  for (std::size_t i = 0; i < all.size(); ++i) out.emplace_back("w" + std::to_string(i), all[i]);
  return out;
}

bool has_step(const checkpoint& of, std::int64_t step) {
  const auto wanted = model(step);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (of.load<std::vector<float>>("w" + std::to_string(i)).value() != wanted[i]) return false;
  return verify(of).value().result() == verdict::ok;
}

constexpr std::uint64_t tensor_bytes = 20'000 * sizeof(float);

TEST_CASE("manager: what did not change since the step before is shared, and harms nobody") {
  const test::temp_directory folder;
  const std::string run = folder / "run";
  manager_options how{.keep = keep_policy::newest(2), .share_unchanged = true};
  {
    auto manager = checkpoint_manager::open(run, how).value();
    for (std::int64_t step = 1; step <= 4; ++step) {
      manager.save(step, leaves_of(model(step))).value();
      manager.wait().value();
      const auto report = manager.last_report().value();
      CHECK(report.warnings.empty());
      CHECK(report.shared_bytes == (step == 1 ? 0 : 49 * tensor_bytes));
    }
    // The steps with which they were shared are gone.
    CHECK(manager.steps() == list{3, 4});
    manager.close().value();
  }
  auto manager = checkpoint_manager::open(run, how).value();
  for (const std::int64_t step : {3, 4}) CHECK(has_step(manager.restore(step).value().data, step));
  // A step that is replaced does not write through to the others.
  manager.save(3, leaves_of(model(9))).value();
  manager.wait().value();
  CHECK(has_step(manager.restore(3).value().data, 9));
  CHECK(has_step(manager.restore(4).value().data, 4));
  manager.remove(3).value();
  CHECK(has_step(manager.restore_latest().value().data, 4));
  // What is damaged is not shared, though the step is not known to be.
  const std::string object = run + "/step_00000004/w20/c.0";
  std::string bytes = test::read_file(object);
  bytes[5] ^= 1;
  fs::remove(object);
  test::write_file(object, bytes);
  manager.save(5, leaves_of(model(4))).value();
  manager.wait().value();
  CHECK(manager.last_report().value().shared_bytes == 49 * tensor_bytes);
  CHECK(has_step(manager.restore(5).value().data, 4));
}

TEST_CASE("manager: nothing is shared where that was not asked for, or with what has items") {
  const test::temp_directory folder;
  {
    auto manager = checkpoint_manager::open(folder / "a").value();
    for (std::int64_t step = 1; step <= 2; ++step) {
      manager.save(step, leaves_of(model(1))).value();
      manager.wait().value();
    }
    CHECK(manager.last_report().value().shared_bytes == 0);
  }
  auto manager = checkpoint_manager::open(folder / "b", {.share_unchanged = true}).value();
  const auto save_items = [&](std::int64_t step) {
    manager
        .save_items(step, {{.name = "model", .leaves = leaves_of(model(step))},
                           {.name = "settings.json", .document = step}})
        .value();
    manager.wait().value();
    return manager.last_report().value();
  };
  CHECK(save_items(1).shared_bytes == 0);
  const auto second = save_items(2);
  CHECK(second.warnings.empty());
  CHECK(second.shared_bytes == 49 * tensor_bytes);
  manager.save(3, leaves_of(model(3))).value();
  manager.wait().value();
  CHECK(manager.last_report().value().shared_bytes == 0);
  CHECK(save_items(4).shared_bytes == 48 * tensor_bytes);
  CHECK(has_step(manager.restore(4, "model").value().data, 4));
}

TEST_CASE("manager: a run of a fine-tune that changes 2 % writes 2 %") {
  const test::temp_directory folder;
  const test::counted_publisher place{file_store::open(folder.path().string()).value()};
  auto manager =
      checkpoint_manager::open(location(any_store(place)), {.share_unchanged = true}).value();
  manager.save(1, leaves_of(model(1))).value();
  manager.wait().value();
  const std::uint64_t whole = *place.written;
  for (std::int64_t step = 2; step <= 6; ++step) {
    *place.written = 0;
    manager.save(step, leaves_of(model(step))).value();
    manager.wait().value();
    // One of 50 tensors, and metadata.
    CHECK(*place.written >= tensor_bytes);
    CHECK(*place.written < whole / 50 + 160'000);
  }
  CHECK(has_step(manager.restore(6).value().data, 6));
}

TEST_CASE("group manager: what did not change since the step before is shared by all ranks") {
  constexpr int ranks = 2;
  const test::temp_directory folder;
  const std::string run = folder / "run";
  const auto done = thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
    const process_group group{.ranks = self};
    ZARRPOINT_TRY(manager, group_checkpoint_manager::open(run, group, {.share_unchanged = true}));
    for (std::int64_t step = 1; step <= 3; ++step) {
      std::vector<float> same(50'000, 1), other(50'000, static_cast<float>(step));
      const auto part = [&](const char* name, std::vector<float>& of) {
        return shard(name, std::span<float>(of), {.offsets = {{0, self.rank(), ranks}}});
      };
      ZARRPOINT_TRY(a, part("same", same));
      ZARRPOINT_TRY(b, part("other", other));
      ZARRPOINT_CHECK(manager.save(step, state{{"step", step}, {"a", a}, {"b", b}}));
      ZARRPOINT_CHECK(manager.wait());
    }
    return manager.close();
  });
  for (const result<void>& one : done) one.value();
  for (std::int64_t step = 1; step <= 3; ++step) {
    const std::string at = run + '/' + detail::step_name(step, {});
    const checkpoint opened = open(at).value();
    CHECK(verify(opened).value().result() == verdict::ok);
    CHECK(opened.load<std::vector<float>>("same").value() == std::vector<float>(100'000, 1));
    CHECK(opened.load<std::vector<float>>("other").value() ==
          std::vector<float>(100'000, static_cast<float>(step)));
    for (const char* object : {"same/c/0", "same/c/1"})
      CHECK(fs::hard_link_count(at + '/' + object) == 3);
    CHECK(fs::hard_link_count(at + "/other/c/0") == 1);
  }
}

TEST_CASE("manager: no policy removes what a save that is under way shares with") {
  const test::temp_directory folder;
  const testing::manual_executor held;
  manager_options how{.keep = keep_policy::newest(1), .share_unchanged = true, .most_under_way = 2};
  how.how.executor = held;
  auto manager = checkpoint_manager::open(folder / "run", how).value();
  const std::vector<float> w(200'000, 1);
  manager.save(1, {{"w", w}}).value();
  manager.wait().value();
  manager.save(2, {{"w", w}}).value();
  std::deque<task> second;
  held.queue->swap(second);
  manager.save(3, {{"w", w}}).value();
  held.queue->swap(second);
  held.run_all();  // step 2, while 3 has not read step 1
  CHECK(manager.steps() == list{1, 2});
  CHECK(manager.remove(1).failure().code == errc::invalid_argument);
  held.queue->swap(second);
  held.run_all();
  manager.wait().value();
  CHECK(manager.steps() == list{3});
  CHECK(manager.last_report().value().shared_bytes == 200'000 * sizeof(float));
}

}  // namespace sharing_steps_test
