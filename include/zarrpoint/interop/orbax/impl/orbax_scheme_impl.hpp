// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_scheme.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/interop/orbax/orbax_scheme.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace orbax {

namespace detail {

/// In the names of directories that a save has not finished.
inline constexpr std::string_view unfinished_mark = ".orbax-checkpoint-tmp";

ZARRPOINT_INLINE result<bool> holds(const stored_place& directory, std::string_view name) {
  ZARRPOINT_TRY(key, directory.key.child(name));
  ZARRPOINT_TRY(object, directory.store.open(key));
  return object != nullptr;
}

/// Whether a directory holds a tree: `_METADATA`, or the older msgpack file.
ZARRPOINT_INLINE result<bool> holds_tree(const stored_place& directory) {
  ZARRPOINT_TRY(has, holds(directory, "_METADATA"));
  if (has) return true;
  ZARRPOINT_TRY(key, directory.key.child("checkpoint"));
  ZARRPOINT_TRY(object, directory.store.open(key));
  if (object == nullptr) return false;
  return is_aggregate(*object);
}

/// The number of a step's directory: `23`, `0023`, `step_23`; nothing for other names.
ZARRPOINT_INLINE std::optional<std::string> step_number(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t begin = last == name.npos ? 0 : last + 1;
  if (begin == name.size() || (begin > 0 && name[begin - 1] != '_')) return std::nullopt;
  std::string_view digits = name.substr(begin);
  while (digits.size() > 1 && digits.starts_with('0')) digits.remove_prefix(1);
  // As text that sorts as the number does.
  if (digits.size() > 20) return std::nullopt;
  return std::string(20 - digits.size(), '0') + std::string(digits);
}

/// Whether a name is that of a step for sure; others with a number at their end may be items, too.
ZARRPOINT_INLINE bool is_step(std::string_view name) {
  for (const std::string_view prefix : {"step_", "checkpoint_"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

/// The directories beneath that a save has finished.
ZARRPOINT_INLINE result<std::vector<std::string>> finished_beneath(const stored_place& directory) {
  ZARRPOINT_TRY(children, directory.store.list(directory.key));
  std::vector<std::string> out;
  for (const list_entry& child : children)
    if (child.is_prefix && child.name.find(unfinished_mark) == child.name.npos)
      out.push_back(child.name);
  return out;
}

/// The one item of a step that holds a tree.
ZARRPOINT_INLINE result<std::optional<found_tree>> item_of(const stored_place& step,
                                                           const std::vector<std::string>& names) {
  std::vector<std::string> items;
  for (const std::string& name : names) {
    ZARRPOINT_TRY(key, step.key.child(name));
    ZARRPOINT_TRY(has, holds_tree({step.store, std::move(key)}));
    if (has) items.push_back(name);
  }
  if (items.empty()) return std::optional<found_tree>();
  if (items.size() > 1) {
    std::string text = step.store.describe(step.key) + " has several items:";
    for (const std::string& name : items) text += " " + v0::detail::in_quotes(name);
    return error{errc::invalid_argument, text + "; open one of them by its path"};
  }
  ZARRPOINT_TRY(key, step.key.child(items[0]));
  return std::optional(found_tree{{step.store, std::move(key)}, items[0]});
}

ZARRPOINT_INLINE error no_tree(const stored_place& directory) {
  return {errc::not_found, directory.store.describe(directory.key) +
                               " holds no tree of Orbax: no _METADATA, no msgpack file "
                               "\"checkpoint\", and no item or step with one"};
}

/// Whether a directory is Orbax's by what lies in it. A manager's root has only steps.
ZARRPOINT_INLINE result<bool> is_orbax(const stored_place& directory) {
  if (directory.store.describe(directory.key).find(unfinished_mark) != std::string::npos)
    return true;
  ZARRPOINT_TRY(is_tree, holds_tree(directory));
  if (is_tree) return true;
  for (const char* name : {"_CHECKPOINT_METADATA", "orbax.checkpoint"}) {
    ZARRPOINT_TRY(has, holds(directory, name));
    if (has) return true;
  }
  for (const char* name : {"zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(has, holds(directory, name));
    if (has) return false;
  }
  ZARRPOINT_TRY(names, finished_beneath(directory));
  for (const std::string& name : names) {
    if (!step_number(name)) continue;
    ZARRPOINT_TRY(is_step, holds(directory, name + "/_CHECKPOINT_METADATA"));
    if (is_step) return true;
    ZARRPOINT_TRY(key, directory.key.child(name));
    ZARRPOINT_TRY(has, holds_tree({directory.store, std::move(key)}));
    if (has) return true;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<found_tree> find_tree(const stored_place& directory) {
  if (directory.store.describe(directory.key).find(detail::unfinished_mark) != std::string::npos)
    return error{errc::unsupported,
                 directory.store.describe(directory.key) + ": its save was not finished"};
  ZARRPOINT_TRY(is_item, detail::holds_tree(directory));
  if (is_item) return found_tree{directory, {}};
  ZARRPOINT_TRY(names, detail::finished_beneath(directory));
  std::vector<std::string> items = names;
  std::erase_if(items, [](const std::string& name) { return detail::is_step(name); });
  ZARRPOINT_TRY(item, detail::item_of(directory, items));
  if (item) return *std::move(item);
  // The newest step first.
  std::erase_if(names, [](const std::string& name) { return !detail::step_number(name); });
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return *detail::step_number(a) > *detail::step_number(b);
  });
  for (const std::string& name : names) {
    ZARRPOINT_TRY(key, directory.key.child(name));
    const stored_place step{directory.store, std::move(key)};
    ZARRPOINT_TRY(is_tree, detail::holds_tree(step));
    if (is_tree) return found_tree{step, name};
    ZARRPOINT_TRY(beneath, detail::finished_beneath(step));
    ZARRPOINT_TRY(found, detail::item_of(step, beneath));
    if (found) return found_tree{found->place, name + "/" + found->path};
  }
  return detail::no_tree(directory);
}

ZARRPOINT_INLINE result<stored_place> tree_place(const std::string& path, link_scope links) {
  ZARRPOINT_TRY(at, v0::detail::split_at_directory(path, links));
  if (!at) {
    ZARRPOINT_CHECK(file_store::open(path, {.read_only = true, .follow_links = links}));
    return error{errc::not_found, path + " does not exist"};
  }
  ZARRPOINT_TRY(found, find_tree({at->store, store_key::root()}));
  ZARRPOINT_TRY(store, tree_store::open(std::move(found.place.store), std::move(found.place.key)));
  return stored_place{std::move(store), std::move(at->key)};
}

ZARRPOINT_INLINE result<stored_place> directory_place(const std::string& path, link_scope links) {
  ZARRPOINT_TRY(directory, v0::detail::split_at_directory(path, links));
  if (directory) {
    ZARRPOINT_TRY(is_orbax, detail::is_orbax({directory->store, store_key::root()}));
    if (is_orbax) return tree_place(path, links);
  }
  ZARRPOINT_TRY(database, v0::detail::find_ocdbt(path, links));
  if (database) return *std::move(database);
  ZARRPOINT_TRY(store, file_store::open(path, {.read_only = true, .follow_links = links}));
  return stored_place{std::move(store), store_key::root()};
}

}  // namespace orbax

ZARRPOINT_INLINE result<stored_place> orbax_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{errc::unsupported, "write " + path +
                                        ": Orbax checkpoints are only read; save to a directory "
                                        "or a zip"};
  return orbax::tree_place(path);
}

ZARRPOINT_INLINE result<stored_place> orbax_file_scheme::open(const url& at, const place_use& use) {
  if (use.write) return file_scheme::open(at, use);
  ZARRPOINT_TRY(path, at.path());
  return orbax::directory_place(path);
}

}}  // namespace zarrpoint::v0
