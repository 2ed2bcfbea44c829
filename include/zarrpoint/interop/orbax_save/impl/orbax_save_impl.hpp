// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/orbax_save/orbax_described.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_target.hpp>

#include <chrono>
#include <initializer_list>
#include <span>
#include <utility>

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

ZARRPOINT_INLINE result<save_report> save_tree(const location& where,
                                               std::span<const tree_item> items,
                                               const save_tree_options& given, const context& how) {
  const save_tree_options options = with_item(given);
  if (!options.paths.empty())
    return bad_tree("save_tree_options::paths are of shards, of which there are none");
  ZARRPOINT_TRY(mine, describe_items(items));
  ZARRPOINT_TRY(plan, plan_tree({mine.leaves}, options));
  for (const planned_item& item : plan.items)
    if (item.array) plan.arrays[*item.array].value = &*mine.values[item.source];
  ZARRPOINT_TRY(target, tree_target::open(where, options, how));
  ZARRPOINT_TRY(written, write_arrays(target, plan, options, how));
  save_report report;
  report.warnings = plan.warnings;
  report.pin_seconds = written.pin_seconds;
  for (const planned_item& each : plan.items) {
    if (!each.array) continue;
    const v0::detail::planned_leaf& planned = plan.arrays[*each.array];
    const v0::detail::written_leaf& leaf = written.leaves[*each.array];
    report.leaves.push_back({.name = each.told.name,
                             .stored = planned.metadata.spec(),
                             .bytes = planned.bytes,
                             .stored_bytes = leaf.stored_bytes,
                             .seconds = leaf.seconds});
    report.bytes += planned.bytes;
    report.stored_bytes += leaf.stored_bytes;
  }
  ZARRPOINT_CHECK(target.publish(plan, 1, report));
  return report;
}

}  // namespace detail

ZARRPOINT_INLINE result<save_report> save(const location& where, std::span<const tree_item> items,
                                          const save_tree_options& options, const context& how) {
  const auto start = std::chrono::steady_clock::now();
  auto report = guarded([&] { return detail::save_tree(where, items, options, how); });
  if (!report) return std::move(report).failure().at("save the Orbax checkpoint " + where.name());
  report->seconds = report->blocked_seconds = v0::detail::seconds_since(start);
  return report;
}

ZARRPOINT_INLINE result<save_report> save(const location& where,
                                          std::initializer_list<tree_item> items,
                                          const save_tree_options& options, const context& how) {
  return save(where, std::span<const tree_item>(items.begin(), items.size()), options, how);
}

}}}  // namespace zarrpoint::v0::orbax
