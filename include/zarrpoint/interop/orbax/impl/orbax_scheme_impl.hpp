// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_scheme.hpp>
#include <zarrpoint/interop/orbax/orbax_documents.hpp>
#include <zarrpoint/interop/orbax/orbax_scheme.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace orbax {

namespace detail {

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

/// The item of a step: the one that holds a tree, or the one of a name.
ZARRPOINT_INLINE result<std::optional<found_tree>> item_of(const stored_place& step,
                                                           const std::vector<std::string>& names,
                                                           std::string_view wanted) {
  std::vector<std::string> items;
  for (const std::string& name : names) {
    if (!wanted.empty() && name != wanted) continue;
    ZARRPOINT_TRY(key, step.key.child(name));
    const stored_place item{step.store, std::move(key)};
    ZARRPOINT_TRY(is_tree, holds_tree(item));
    if (!is_tree) ZARRPOINT_CHECK(check_metadata(item));
    std::string json;
    if (!wanted.empty() && !is_tree) {
      ZARRPOINT_TRY(file, json_file(item));
      json = std::move(file);
    }
    if (is_tree || !json.empty()) items.push_back(name);
    if (is_tree || wanted.empty()) continue;
    // Of a random key the tree is an item of the item.
    for (const char* key : {"/jax_random_key", "/np_random_key"}) {
      ZARRPOINT_TRY(beneath, step.key.child(name + key));
      ZARRPOINT_TRY(is_key, holds_tree({step.store, std::move(beneath)}));
      if (is_key) items.push_back(name + key);
    }
  }
  if (items.empty()) return std::optional<found_tree>();
  if (items.size() > 1) {
    const std::string place = step.store.describe(step.key);
    std::string text = place + " has several items:";
    for (const std::string& name : items) text += " " + v0::detail::in_quotes(name);
    return error{errc::invalid_argument,
                 text + "; open one of them, as " + v0::detail::in_quotes(place + ':' + items[0])};
  }
  ZARRPOINT_TRY(key, step.key.child(items[0]));
  return std::optional(found_tree{{step.store, std::move(key)}, items[0]});
}

/// Refuses a step that tells of an item which is not there, so that no older step is taken for it.
/// Errors: `corrupt`.
ZARRPOINT_INLINE result<void> check_items(const stored_place& step,
                                          const std::vector<std::string>& names,
                                          std::string_view wanted) {
  ZARRPOINT_TRY(key, step.key.child("_CHECKPOINT_METADATA"));
  ZARRPOINT_TRY(text, get(step.store, key, std::uint64_t{1} << 20));
  if (!text || text->empty()) return {};
  ZARRPOINT_TRY(facts, read_checkpoint_facts(*text).at(step.store.describe(key)));
  const node::object* const items = facts.item_handlers.if_object();
  if (items == nullptr) return {};
  for (const node::member& item : *items) {
    const bool is_there = std::find(names.begin(), names.end(), item.key) != names.end();
    if (is_there || (!wanted.empty() && item.key != wanted)) continue;
    return error{errc::corrupt, step.store.describe(step.key) + ": its item " +
                                    v0::detail::in_quotes(item.key) +
                                    " is missing, and _CHECKPOINT_METADATA tells of it"};
  }
  return {};
}

ZARRPOINT_INLINE error no_tree(const stored_place& directory, std::string_view item) {
  const std::string place = directory.store.describe(directory.key);
  if (!item.empty())
    return {errc::not_found, place + " has no item " + v0::detail::in_quotes(item) +
                                 " with a tree or JSON, and no step that has"};
  return {errc::not_found, place +
                               " holds no tree of Orbax: no _METADATA, no msgpack file "
                               "\"checkpoint\", and no item or step with one"};
}

/// Whether one of the directories beneath is an item with `_METADATA`.
ZARRPOINT_INLINE bool holds_item(const stored_place& step, const std::vector<std::string>& names) {
  constexpr std::size_t most = 64;  // of other directories that have many
  return std::any_of(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most)),
      [&](const std::string& name) { return holds(step, name + "/_METADATA").value_or(false); });
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
  // Of a step of which nothing but an item tells.
  const std::string path = directory.store.describe(directory.key);
  if (step_number(std::string_view(path).substr(path.rfind('/') + 1)) &&
      holds_item(directory, names))
    return true;
  for (const std::string& name : names) {
    if (!step_number(name)) continue;
    ZARRPOINT_TRY(is_step, holds(directory, name + "/_CHECKPOINT_METADATA"));
    if (is_step) return true;
    ZARRPOINT_TRY(key, directory.key.child(name));
    const stored_place step{directory.store, std::move(key)};
    ZARRPOINT_TRY(has, holds_tree(step));
    if (has) return true;
    const auto items = finished_beneath(step);
    if (items && holds_item(step, *items)) return true;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<found_tree> find_tree(const stored_place& directory,
                                              std::string_view item) {
  if (directory.store.describe(directory.key).find(detail::unfinished_mark) != std::string::npos)
    return error{errc::unsupported,
                 directory.store.describe(directory.key) + ": its save was not finished"};
  ZARRPOINT_TRY(is_item, detail::holds_tree(directory));
  if (is_item && item.empty()) return found_tree{directory, {}};
  if (!is_item) ZARRPOINT_CHECK(detail::check_metadata(directory));
  ZARRPOINT_TRY(names, detail::finished_beneath(directory));
  std::vector<std::string> items = names;
  if (item.empty())
    std::erase_if(items, [](const std::string& name) { return detail::is_step(name); });
  ZARRPOINT_TRY(own, detail::item_of(directory, items, item));
  if (own) return *std::move(own);
  // The newest step first.
  std::erase_if(names, [](const std::string& name) { return !detail::step_number(name); });
  v0::detail::sort_by(names, [](const std::string& a, const std::string& b) {
    return *detail::step_number(a) > *detail::step_number(b);
  });
  for (const std::string& name : names) {
    ZARRPOINT_TRY(key, directory.key.child(name));
    const stored_place step{directory.store, std::move(key)};
    ZARRPOINT_TRY(is_tree, detail::holds_tree(step));
    if (is_tree && item.empty()) return found_tree{step, name};
    ZARRPOINT_TRY(beneath, detail::finished_beneath(step));
    ZARRPOINT_TRY(found, detail::item_of(step, beneath, item));
    if (found) return found_tree{found->place, name + "/" + found->path};
    ZARRPOINT_CHECK(detail::check_items(step, beneath, item));
  }
  return detail::no_tree(directory, item);
}

namespace detail {

/// The part of a path that names an item, and what stands around it: `root:state/params`.
struct item_path {
  std::string directory;
  std::string_view item;
  std::string_view rest;
};

/// The ways to see an item in the segment that is not a directory, the shortest directory first.
ZARRPOINT_INLINE std::vector<item_path> split_items(std::string_view above, std::string_view rest) {
  const std::size_t end = std::min(rest.find('/'), rest.size());
  std::vector<item_path> out;
  for (std::size_t colon = rest.find(':'); colon < end && colon + 1 < end;
       colon = rest.find(':', colon + 1))
    out.push_back({std::string(above) + std::string(rest.substr(0, colon)),
                   rest.substr(colon + 1, end - colon - 1),
                   rest.substr(std::min(end + 1, rest.size()))});
  return out;
}

ZARRPOINT_INLINE result<std::optional<found_path>> found_in(std::string directory, any_store store,
                                                            std::string_view item) {
  const stored_place root{std::move(store), store_key::root()};
  ZARRPOINT_TRY(is_one, is_orbax(root));
  if (!is_one) return std::optional<found_path>();
  ZARRPOINT_TRY(found, find_tree(root, item));
  return std::optional(found_path{std::move(directory), std::move(found), store_key::root()});
}

/// An item of JSON as a group.
ZARRPOINT_INLINE result<any_store> json_store(const stored_place& item) {
  ZARRPOINT_TRY(value, read_json_item(item));
  node attributes;
  if (value.if_object() != nullptr) {
    attributes = std::move(value);
  } else {
    attributes.set("value", std::move(value));
  }
  memory_store made;
  ZARRPOINT_TRY(document, store_key::parse("zarr.json"));
  ZARRPOINT_CHECK(made.put(document, as_bytes(group_document(attributes))));
  return any_store(std::move(made));
}

ZARRPOINT_INLINE result<stored_place> open_found(found_path at, std::uint64_t memory) {
  ZARRPOINT_TRY(is_tree, holds_tree(at.found.place));
  if (!is_tree) {
    ZARRPOINT_TRY(json, json_store(at.found.place));
    return stored_place{std::move(json), std::move(at.rest)};
  }
  ZARRPOINT_TRY(store, tree_store::open(std::move(at.found.place.store),
                                        std::move(at.found.place.key), memory));
  return stored_place{std::move(store), std::move(at.rest)};
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<found_path>> find_at(const std::string& path,
                                                           link_scope links) {
  ZARRPOINT_TRY(at, v0::detail::split_at_directory(path, links));
  std::string_view above = path;
  while (above.size() > 1 && above.ends_with('/')) above.remove_suffix(1);
  // A relative path may have no directory on its way but the one with an item.
  const std::string_view rest = at ? at->key.str() : above;
  above.remove_suffix(rest.size());
  for (const detail::item_path& named : detail::split_items(above, rest)) {
    auto store = file_store::open(named.directory, {.read_only = true, .follow_links = links});
    if (!store) continue;
    ZARRPOINT_TRY(beneath, store_key::parse(named.rest));
    ZARRPOINT_TRY(found, detail::found_in(named.directory, *std::move(store), named.item));
    if (found) found->rest = std::move(beneath);
    return std::move(found);
  }
  if (!at) return std::optional<found_path>();
  while (above.size() > 1 && above.ends_with('/')) above.remove_suffix(1);
  ZARRPOINT_TRY(found, detail::found_in(std::string(above), std::move(at->store), {}));
  if (found) found->rest = std::move(at->key);
  return std::move(found);
}

ZARRPOINT_INLINE result<stored_place> tree_place(const std::string& path, link_scope links,
                                                 std::uint64_t memory) {
  ZARRPOINT_TRY(at, find_at(path, links));
  if (at) return detail::open_found(*std::move(at), memory);
  ZARRPOINT_TRY(nearest, v0::detail::split_at_directory(path, links));
  if (!nearest) {
    ZARRPOINT_CHECK(file_store::open(path, {.read_only = true, .follow_links = links}));
    return error{errc::not_found, path + " does not exist"};
  }
  return detail::no_tree({std::move(nearest->store), store_key::root()}, {});
}

ZARRPOINT_INLINE result<stored_place> directory_place(const std::string& path, link_scope links,
                                                      std::uint64_t memory) {
  ZARRPOINT_TRY(at, find_at(path, links));
  if (at) return detail::open_found(*std::move(at), memory);
  ZARRPOINT_TRY(database, v0::detail::find_ocdbt(path, links, ocdbt_options{}.within(memory)));
  if (database) return *std::move(database);
  ZARRPOINT_TRY(store, file_store::open(path, {.read_only = true, .follow_links = links}));
  return stored_place{std::move(store), store_key::root()};
}

}  // namespace orbax

ZARRPOINT_INLINE result<stored_place> orbax_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{errc::unsupported, "write " + path +
                                        ": orbax::save writes Orbax checkpoints; save to a "
                                        "directory or a zip"};
  return orbax::tree_place(path, link_scope::none, use.memory);
}

ZARRPOINT_INLINE result<stored_place> orbax_file_scheme::open(const url& at, const place_use& use) {
  if (use.write) return file_scheme::open(at, use);
  ZARRPOINT_TRY(path, at.path());
  return orbax::directory_place(path, link_scope::none, use.memory);
}

}}  // namespace zarrpoint::v0
