// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/orbax_save/orbax_described.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_target.hpp>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

/// The arrays, with the record of the one process.
ZARRPOINT_INLINE result<v0::detail::written_leaves> write_arrays(const tree_target& target,
                                                                 const tree_plan& plan,
                                                                 const save_tree_options& options,
                                                                 const context& given) {
  const context how = with_scratch(given);
  progress_meter meter(how.progress, "save", plan.bytes);
  const write_options writing{.elide_fill = false, .cast = true, .how = &how, .meter = &meter};
  const any_store& item = target.item();
  ZARRPOINT_CHECK(put_text(item, "array_metadatas/process_0", array_record(plan)));
  if (!options.ocdbt) return v0::detail::write_leaves(item, plan.arrays, writing);
  ZARRPOINT_TRY(own, database_of(0));
  ZARRPOINT_TRY(database, ocdbt_writer::open(item, own, options.database));
  ZARRPOINT_TRY(written, v0::detail::write_leaves(database, plan.arrays, writing));
  ZARRPOINT_CHECK(database.commit());
  ZARRPOINT_CHECK(target.merge({&own, 1}));
  return std::move(written);
}

/// A tree, and what was staged of it before: of each leaf, or of none.
struct tree_to_save {
  described_tree described;
  v0::detail::staged_leaves early{};
};

/// The arrays of a plan with their elements. `of` stays where it is.
ZARRPOINT_INLINE void add_values(const tree_to_save& of, tree_plan& to) {
  for (const planned_item& item : to.items) {
    if (!item.array) continue;
    v0::detail::planned_leaf& array = to.arrays[*item.array];
    array.value = &*of.described.values[item.source];
    if (!of.early.leaves.empty() && !array.value->host_accessible())
      array.early = &of.early.leaves[item.source];
  }
}

ZARRPOINT_INLINE result<save_report> save_described(const location& where, const tree_to_save& mine,
                                                    const save_tree_options& options,
                                                    const context& how) {
  ZARRPOINT_TRY(plan, plan_tree({mine.described.leaves}, options));
  add_values(mine, plan);
  ZARRPOINT_TRY(target, tree_target::open(where, options, how));
  ZARRPOINT_TRY(written, write_arrays(target, plan, options, how));
  save_report report;
  report.warnings = plan.warnings;
  report.warnings.insert(report.warnings.end(), mine.early.warnings.begin(),
                         mine.early.warnings.end());
  report.pin_seconds = mine.early.pin_seconds + written.pin_seconds;
  for (const planned_item& each : plan.items) {
    if (!each.array) continue;
    const v0::detail::planned_leaf& planned = plan.arrays[*each.array];
    const v0::detail::written_leaf& leaf = written.leaves[*each.array];
    report.leaves.push_back({.name = each.told.name,
                             .stored = planned.metadata().spec(),
                             .bytes = planned.bytes,
                             .stored_bytes = leaf.stored_bytes,
                             .seconds = leaf.seconds});
    report.bytes += planned.bytes;
    report.stored_bytes += leaf.stored_bytes;
  }
  ZARRPOINT_CHECK(target.publish(plan, 1, report));
  return report;
}

/// Describes a tree as it is now; the options are those of one process.
ZARRPOINT_INLINE result<tree_to_save> describe_tree(std::span<const tree_item> items,
                                                    const save_tree_options& options) {
  if (!options.paths.empty())
    return bad_tree("save_tree_options::paths are of shards, of which there are none");
  ZARRPOINT_TRY(described, describe_items(items));
  return tree_to_save{std::move(described)};
}

ZARRPOINT_INLINE error in_save(error failure, const location& where) {
  return std::move(failure).at("save the Orbax checkpoint " + where.name());
}

/// A save in the background.
struct async_tree_save {
  context how;  // the first: its scratch memory outlives what was staged in it
  location where;
  save_tree_options options;
  tree_to_save mine{};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double blocked_seconds = 0;

  /// Copies what the caller may change or free when `save_async` has returned.
  result<void> stage(std::span<const tree_item> items) {
    ZARRPOINT_TRY(described, describe_tree(items, options));
    mine = std::move(described);
    std::vector<leaf> on_devices;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < mine.described.leaves.size(); ++i) {
      if (!mine.described.leaves[i].is_array()) continue;
      const leaf& value = *mine.described.values[i];
      if (value.host_accessible()) continue;
      on_devices.push_back(value);
      places.push_back(i);
    }
    ZARRPOINT_TRY(early,
                  v0::detail::stage_leaves(on_devices, {.device_copy = options.device_copy}, how));
    std::vector<v0::detail::staged_leaf> of_all(mine.described.leaves.size());
    for (std::size_t i = 0; i < places.size(); ++i) of_all[places[i]] = std::move(early.leaves[i]);
    early.leaves = std::move(of_all);
    mine.early = std::move(early);
    blocked_seconds = v0::detail::seconds_since(start);
    return {};
  }

  result<save_report> operator()() {
    auto done = guarded([&] { return save_described(where, mine, options, how); });
    if (!done) return in_save(std::move(done).failure(), where);
    done->seconds = v0::detail::seconds_since(start);
    done->blocked_seconds = blocked_seconds;
    return done;
  }
};

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save(const location& where, std::span<const tree_item> items,
                                          const save_tree_options& given, const context& how) {
  const auto start = std::chrono::steady_clock::now();
  auto report = guarded([&]() -> result<save_report> {
    const save_tree_options options = detail::with_item(given);
    ZARRPOINT_TRY(mine, detail::describe_tree(items, options));
    return detail::save_described(where, mine, options, how);
  });
  if (!report) return detail::in_save(std::move(report).failure(), where);
  report->seconds = report->blocked_seconds = v0::detail::seconds_since(start);
  return report;
}

ZARRPOINT_INLINE result<save_report> save(const location& where,
                                          std::initializer_list<tree_item> items,
                                          const save_tree_options& options, const context& how) {
  return save(where, std::span<const tree_item>(items.begin(), items.size()), options, how);
}

ZARRPOINT_INLINE pending<save_report> save_async(location where, std::vector<tree_item> items,
                                                 save_tree_options options, const context& how) {
  auto begun = guarded([&]() -> result<pending<save_report>> {
    // What is staged now must outlive this call, so that the scratch pool goes with it.
    detail::async_tree_save one{with_scratch(how), where, detail::with_item(std::move(options))};
    ZARRPOINT_CHECK(one.stage(items));
    const any_executor executor = one.how.executor;
    return run_async(executor, std::move(one));
  });
  if (!begun) return pending<save_report>(detail::in_save(std::move(begun).failure(), where));
  return *std::move(begun);
}

}}}  // namespace zarrpoint::v0::orbax
