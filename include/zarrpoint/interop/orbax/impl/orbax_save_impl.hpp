// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/old_paths.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_merge.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/orbax/orbax_plan.hpp>
#include <zarrpoint/interop/orbax/orbax_records.hpp>
#include <zarrpoint/interop/orbax/orbax_save.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/stored_place.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

ZARRPOINT_INLINE std::uint64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// What is at the target already.
struct old_checkpoint {
  bool is_there = false;
  checkpoint_facts about;          ///< of a step
  std::vector<std::string> paths;  ///< what is replaced, sorted
};

/// Adds what a tree of Orbax's in `directory` consists of. `above` is its path, "x/" or empty.
ZARRPOINT_INLINE result<void> add_tree_paths(const stored_place& directory,
                                             const std::string& above,
                                             std::vector<std::string>& to) {
  ZARRPOINT_TRY(children, directory.store.list(directory.key));
  for (const list_entry& child : children)
    if (is_own_name(child.name)) to.push_back(above + child.name);
  ZARRPOINT_TRY(key, directory.key.child("_METADATA"));
  ZARRPOINT_TRY(document, get(directory.store, key, std::uint64_t{128} << 20));
  if (!document) return {};
  // Of one that cannot be read, arrays in directories stay.
  const auto tree = read_tree(*document);
  if (!tree) return {};
  for (const tree_leaf& leaf : tree->leaves) {
    if (!leaf.storage.empty()) {
      to.push_back(above + leaf.storage);
      continue;
    }
    for (const char* name : {"zarr.json", ".zarray", "c", "0"}) to.push_back(above + name);
  }
  return {};
}

/// Looks at what a save would replace. Errors: `already_exists` for what it must not.
ZARRPOINT_INLINE result<old_checkpoint> look_at_target(const stored_place& target,
                                                       const std::string& item, bool overwrite) {
  const std::string name = target.store.describe(target.key);
  const auto there = [&](std::string_view what) {
    return error{errc::already_exists, name + " " + std::string(what)};
  };
  old_checkpoint out;
  if (!target.key.is_root()) {
    // A store may answer for a directory with an error of its own; then it lists something.
    auto object = target.store.open(target.key);
    if (object && *object != nullptr)
      return there("is a file, not a checkpoint; nothing was changed");
  }
  ZARRPOINT_TRY(children, target.store.list(target.key));
  if (children.empty()) return out;
  if (!overwrite) return there("is there already, and save_tree_options::overwrite is false");
  out.is_there = true;
  ZARRPOINT_TRY(is_tree, holds_tree(target));
  ZARRPOINT_TRY(is_step, holds(target, "_CHECKPOINT_METADATA"));
  if (!is_tree && !is_step)
    return there("is not empty and is not a checkpoint of Orbax's; nothing was changed");
  if (is_tree != item.empty())
    return there(is_tree ? "is a tree, not a step with items; nothing was changed"
                         : "is a step with items, not a tree; nothing was changed");
  for (const char* own : {"_CHECKPOINT_METADATA", "commit_success.txt"})
    out.paths.emplace_back(own);
  if (is_tree) {
    ZARRPOINT_CHECK(add_tree_paths(target, "", out.paths));
  } else {
    ZARRPOINT_TRY(key, target.key.child("_CHECKPOINT_METADATA"));
    ZARRPOINT_TRY(document, get(target.store, key, std::uint64_t{1} << 20));
    ZARRPOINT_TRY(facts, read_checkpoint_facts(document ? bytes_view(*document) : bytes_view())
                             .at(target.store.describe(key)));
    out.about = std::move(facts);
    ZARRPOINT_TRY(beneath, target.key.child(item));
    ZARRPOINT_CHECK(add_tree_paths({target.store, std::move(beneath)}, item + '/', out.paths));
  }
  std::sort(out.paths.begin(), out.paths.end());
  out.paths.erase(std::unique(out.paths.begin(), out.paths.end()), out.paths.end());
  return out;
}

/// What the new tree lets nothing of others into.
ZARRPOINT_INLINE std::vector<std::string> taken_paths(const tree_plan& plan,
                                                      const save_tree_options& options) {
  const std::string above = options.item.empty() ? "" : options.item + '/';
  std::vector<std::string> out{"_CHECKPOINT_METADATA", "commit_success.txt"};
  for (const char* name :
       {"_METADATA", "_sharding", "_strings.json", "array_metadatas", "commit_success.txt",
        "manifest.ocdbt", "d", "ocdbt.process_0", "checkpoint"})
    out.push_back(above + name);
  for (const v0::detail::planned_leaf& array : plan.arrays)
    if (!options.ocdbt && !array.key->is_root())
      out.push_back(above + std::string(array.key->str()));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<void> put_text(const any_store& store, std::string_view name,
                                       std::string_view text) {
  if (text.empty()) return {};
  ZARRPOINT_TRY(key, store_key::parse(name));
  return store.put(key, as_bytes(text));
}

/// The arrays.
ZARRPOINT_INLINE result<v0::detail::written_leaves> write_arrays(const any_store& item,
                                                                 const tree_plan& plan,
                                                                 const save_tree_options& options,
                                                                 const write_options& how) {
  if (!options.ocdbt) return v0::detail::write_leaves(item, plan.arrays, how);
  // As Orbax: what a process wrote is a database of its own, and the tree's refers to its files.
  ZARRPOINT_TRY(own, store_key::parse("ocdbt.process_0"));
  ZARRPOINT_TRY(database, ocdbt_writer::open(item, own, options.database));
  ZARRPOINT_TRY(written, v0::detail::write_leaves(database, plan.arrays, how));
  ZARRPOINT_CHECK(database.commit());
  const std::vector<store_key> all{own};
  ZARRPOINT_CHECK(ocdbt_merge(item, store_key::root(), all, options.database));
  return std::move(written);
}

/// All of a checkpoint, into a directory that is not published yet.
ZARRPOINT_INLINE result<save_report> write_tree(const any_store& store, const tree_plan& plan,
                                                const save_tree_options& options,
                                                checkpoint_facts about, const std::string& name,
                                                const context& given) {
  if (!about.begin_time) about.begin_time = nanoseconds_now();
  const context how = with_scratch(given);
  any_store item = store;
  if (!options.item.empty()) {
    ZARRPOINT_TRY(key, store_key::parse(options.item));
    item = any_store(prefix_store(store, std::move(key)));
  }
  progress_meter meter(how.progress, "save", plan.bytes);
  const write_options writing{.elide_fill = false, .cast = true, .how = &how, .meter = &meter};
  ZARRPOINT_TRY(written, write_arrays(item, plan, options, writing));
  save_report report{.id{}, .leaves{}, .warnings = plan.warnings};
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
  const std::string done = "Checkpoint commit was successful to " + name;
  ZARRPOINT_CHECK(put_text(item, "_strings.json", text_record(plan)));
  ZARRPOINT_CHECK(put_text(item, "_sharding", sharding_record(plan)));
  ZARRPOINT_CHECK(put_text(item, "array_metadatas/process_0", array_record(plan)));
  ZARRPOINT_CHECK(put_text(item, "_METADATA", tree_record(plan, options)));
  if (!options.item.empty())
    ZARRPOINT_CHECK(put_text(item, "commit_success.txt", done + '/' + options.item));
  about.commit_time = nanoseconds_now();
  ZARRPOINT_CHECK(put_text(store, "_CHECKPOINT_METADATA", checkpoint_record(about)));
  ZARRPOINT_CHECK(put_text(store, "commit_success.txt", done));
  return report;
}

ZARRPOINT_INLINE result<save_report> save_tree(const location& where,
                                               std::span<const tree_item> items,
                                               save_tree_options options, const context& how) {
  if (options.step && options.item.empty()) options.item = "default";
  ZARRPOINT_TRY(plan, plan_tree(items, options));
  ZARRPOINT_TRY(target, v0::detail::location_access::to_write(where, options.sync, how.stores));
  if (v0::detail::location_access::is_path(where) && target.key.is_root())
    return error{errc::unsupported, "Orbax opens directories only, not files"};
  if (options.step) {
    ZARRPOINT_TRY(key, target.key.child(std::to_string(*options.step)));
    target.key = std::move(key);
  }
  const std::string name = target.store.describe(target.key);
  if (!target.store.can_publish() || !target.store.can_list())
    return error{errc::unsupported, name + ": its store cannot publish a directory in one step"};
  ZARRPOINT_TRY(old, look_at_target(target, options.item, options.overwrite));
  checkpoint_facts about;  // of the step before, what is not of the item
  if (options.item.empty()) {
    about.item_handlers = std::string(tree_handler);
  } else {
    about = std::move(old.about);
    if (about.item_handlers.if_object() == nullptr) about.item_handlers = node::object{};
    about.item_handlers.set(options.item, std::string(tree_handler));
    for (node* one : {&about.metrics, &about.performance_metrics, &about.custom_metadata})
      if (one->if_object() == nullptr) *one = node();
  }
  if (!options.step_metadata.is_null()) about.custom_metadata = options.step_metadata;
  ZARRPOINT_TRY(staged, target.store.stage(target.key, {.overwrite = options.overwrite,
                                                        .sync = options.sync,
                                                        .mark = unfinished_mark}));
  ZARRPOINT_TRY(report, write_tree(staged->store(), plan, options, std::move(about), name, how));
  if (old.is_there) {
    ZARRPOINT_TRY(kept, staged->keep({std::move(old.paths), taken_paths(plan, options)}));
    report.kept = std::move(kept);
  }
  ZARRPOINT_CHECK(staged->commit());
  // The new checkpoint is in its place: that it cannot be told of is not a failure of the save.
  static_cast<void>(guarded([&]() -> result<void> {
    return v0::detail::add_late(staged->late(), report.kept, report.warnings), result<void>();
  }));
  return std::move(report);
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
