// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_merge.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax_save/orbax_extra_items.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_target.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE std::uint64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

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

ZARRPOINT_INLINE result<v0::detail::own_look> look_for_tree(const stored_place& at, bool is_item) {
  ZARRPOINT_TRY(is_tree, holds_tree(at));
  ZARRPOINT_TRY(is_step, holds(at, "_CHECKPOINT_METADATA"));
  if (is_tree) return v0::detail::own_look{!is_item, "a tree of Orbax, not a step"};
  if (is_step) return v0::detail::own_look{is_item, "a step of Orbax with items, not a tree"};
  return v0::detail::own_look{};
}

/// Looks at what a save would replace. Errors: `already_exists` for what it must not.
ZARRPOINT_INLINE result<previous_checkpoint> look_at_target(const stored_place& target,
                                                            const std::string& item,
                                                            bool overwrite) {
  previous_checkpoint out;
  const v0::detail::replace_rule rule{
      .where = target.store.describe(target.key),
      .overwrite = overwrite,
      .name = "an Orbax checkpoint",
      .kind = v0::detail::directory_kind::orbax,
      .may_hold = {v0::detail::directory_kind::zarr}};  // a tree of one array
  ZARRPOINT_TRY(is_there,
                v0::detail::check_replace(target, rule, look_for_tree(target, !item.empty())));
  if (!is_there) return out;
  out.is_there = true;
  for (const char* own : {"_CHECKPOINT_METADATA", "commit_success.txt", "orbax.checkpoint"})
    out.paths.emplace_back(own);
  if (item.empty()) {
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
  v0::detail::sort_names(out.paths);
  out.paths.erase(std::unique(out.paths.begin(), out.paths.end()), out.paths.end());
  return out;
}

ZARRPOINT_INLINE save_tree_options with_item(save_tree_options options) {
  if (!options.item.empty()) return options;
  if (options.handler == tree_handler::v1) {
    options.item = "state";
  } else if (options.step) {
    options.item = "default";
  }
  return options;
}

ZARRPOINT_INLINE result<stored_place> place_of(const location& where,
                                               const save_tree_options& options,
                                               const context& how) {
  ZARRPOINT_TRY(target, v0::detail::location_access::to_write(where, options.sync, how.stores));
  if (v0::detail::location_access::is_path(where) && target.key.is_root())
    return error{errc::unsupported, "Orbax opens directories only, not files"};
  if (options.step) {
    ZARRPOINT_TRY(key, target.key.child(std::to_string(*options.step)));
    target.key = std::move(key);
  }
  return std::move(target);
}

ZARRPOINT_INLINE result<any_store> item_of(const any_store& store,
                                           const save_tree_options& options) {
  if (options.item.empty()) return store;
  ZARRPOINT_TRY(key, store_key::parse(options.item));
  return any_store(prefix_store(store, std::move(key)));
}

ZARRPOINT_INLINE result<store_key> database_of(int process) {
  return store_key::parse("ocdbt.process_" + std::to_string(process));
}

ZARRPOINT_INLINE result<void> put_text(const any_store& store, std::string_view name,
                                       std::string_view text) {
  if (text.empty()) return {};
  ZARRPOINT_TRY(key, store_key::parse(name));
  return store.put(key, as_bytes(text));
}

ZARRPOINT_INLINE result<tree_target> tree_target::open(const location& where,
                                                       const save_tree_options& options,
                                                       const context& how) {
  ZARRPOINT_TRY(target, place_of(where, options, how));
  tree_target out(options, std::move(target));
  const any_store& store = out.target_.store;
  if (!store.can_publish() || !store.can_list())
    return error{errc::unsupported,
                 out.name_ + ": its store cannot publish a directory in one step"};
  ZARRPOINT_CHECK(out.look());
  ZARRPOINT_TRY(staged, v0::detail::stage(out.target_, {.overwrite = options.overwrite,
                                                        .sync = options.sync,
                                                        .mark = unfinished_mark}));
  out.staged_ = std::move(staged);
  out.store_ = out.staged_->store();
  ZARRPOINT_TRY(item, item_of(*out.store_, options));
  out.item_ = std::move(item);
  return out;
}

ZARRPOINT_INLINE result<void> tree_target::look() {
  ZARRPOINT_TRY(old, look_at_target(target_, options_->item, options_->overwrite));
  if (old.is_there)
    for (extra_handler& extra : extra_handlers(*options_))
      old.paths.push_back(std::move(extra.item));
  v0::detail::sort_names(old.paths);
  old_ = std::move(old);
  const auto begin_time = about_.begin_time;
  about_ = {};
  if (options_->item.empty()) {
    about_.item_handlers = std::string(handler_name(options_->handler));
  } else {
    about_ = std::move(old_.about);
    if (about_.item_handlers.if_object() == nullptr) about_.item_handlers = node::object{};
    about_.item_handlers.set(options_->item, std::string(handler_name(options_->handler)));
    for (extra_handler& extra : extra_handlers(*options_))
      about_.item_handlers.set(extra.item, std::move(extra.handler));
    for (node* one : {&about_.metrics, &about_.performance_metrics, &about_.custom_metadata})
      if (one->if_object() == nullptr) *one = node();
  }
  if (!options_->step_metadata.is_null()) about_.custom_metadata = options_->step_metadata;
  if (!about_.begin_time) about_.begin_time = begin_time ? begin_time : nanoseconds_now();
  return {};
}

ZARRPOINT_INLINE result<void> tree_target::merge(std::span<const store_key> databases) const {
  return ocdbt_merge(*item_, store_key::root(), databases, options_->database)
      .transform([](const auto&) {});
}

ZARRPOINT_INLINE result<void> tree_target::put_records(const tree_plan& plan) {
  const std::string done = "Checkpoint commit was successful to " + name_;
  ZARRPOINT_CHECK(put_text(*item_, "_strings.json", text_record(plan)));
  ZARRPOINT_CHECK(put_text(*item_, "_sharding", sharding_record(plan)));
  ZARRPOINT_CHECK(put_text(*item_, "_METADATA", tree_record(plan, *options_)));
  if (!options_->item.empty())
    ZARRPOINT_CHECK(put_text(*item_, "commit_success.txt", done + '/' + options_->item));
  ZARRPOINT_TRY(extras, extra_files(*options_));
  for (const extra_file& extra : extras) {
    ZARRPOINT_TRY(key, store_key::parse(extra.path));
    ZARRPOINT_CHECK(store_->put(key, extra.bytes));
  }
  for (const extra_handler& extra : extra_handlers(*options_))
    ZARRPOINT_CHECK(put_text(*store_, extra.item + "/commit_success.txt", done + '/' + extra.item));
  if (options_->handler == tree_handler::v1) {
    ZARRPOINT_TRY(mark, store_key::parse("orbax.checkpoint"));
    ZARRPOINT_CHECK(store_->put(mark, {}));
  }
  about_.commit_time = nanoseconds_now();
  ZARRPOINT_CHECK(put_text(*store_, "_CHECKPOINT_METADATA", checkpoint_record(about_)));
  return put_text(*store_, "commit_success.txt", done);
}

ZARRPOINT_INLINE std::vector<std::string> tree_target::taken_paths(const tree_plan& plan,
                                                                   int processes) const {
  const std::string above = options_->item.empty() ? "" : options_->item + '/';
  std::vector<std::string> out{"_CHECKPOINT_METADATA", "commit_success.txt", "orbax.checkpoint"};
  for (extra_handler& extra : extra_handlers(*options_)) out.push_back(std::move(extra.item));
  for (const char* name : {"_METADATA", "_sharding", "_strings.json", "array_metadatas",
                           "commit_success.txt", "manifest.ocdbt", "d", "checkpoint"})
    out.push_back(above + name);
  for (int process = 0; process < processes; ++process)
    out.push_back(above + "ocdbt.process_" + std::to_string(process));
  for (const v0::detail::planned_leaf& array : plan.arrays)
    if (!options_->ocdbt && !array.key->is_root())
      out.push_back(above + std::string(array.key->str()));
  v0::detail::sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<void> tree_target::publish(const tree_plan& plan, int processes,
                                                   save_report& report) {
  // Writing takes long: another group may have published an item of this step meanwhile.
  if (options_->overwrite) ZARRPOINT_CHECK(look());
  ZARRPOINT_CHECK(put_records(plan));
  std::optional<owned_paths> owned;
  if (options_->overwrite) owned = {std::move(old_.paths), taken_paths(plan, processes)};
  return v0::detail::publish(*staged_, owned, report);
}

}}}}  // namespace zarrpoint::v0::orbax::detail
