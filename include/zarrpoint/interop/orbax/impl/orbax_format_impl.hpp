// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/orbax/orbax_documents.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
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

namespace zarrpoint { inline namespace v0 { namespace orbax {

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

/// The directory that a look leads to, with the item that is asked for, before anything in it is
/// read.
struct named_directory {
  std::string path;
  stored_place place;
  std::string_view item;
  std::string_view rest;
};

ZARRPOINT_INLINE std::optional<named_directory> directory_at(const place_look& at) {
  if (at.is_file()) return std::nullopt;
  // A relative path may have no directory on its way but the one with an item.
  const std::string above = at.place().empty() ? "" : at.place() + '/';
  for (const item_path& named : split_items(above, at.rest())) {
    auto store = file_store::open(named.directory, {.read_only = true, .follow_links = at.links()});
    if (store)
      return named_directory{
          named.directory, {*std::move(store), store_key::root()}, named.item, named.rest};
  }
  if (!at.is_directory()) return std::nullopt;
  return named_directory{at.place(), {at.directory(), store_key::root()}, {}, at.rest()};
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

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<found_path>> find_at(const std::string& path,
                                                           link_scope links) {
  const place_look at(path, links);
  const auto named = detail::directory_at(at);
  if (!named) return std::optional<found_path>();
  ZARRPOINT_TRY(is_one, detail::is_orbax(named->place));
  if (!is_one) return std::optional<found_path>();
  ZARRPOINT_TRY(found, find_tree(named->place, named->item));
  ZARRPOINT_TRY(rest, store_key::parse(named->rest));
  return std::optional(found_path{named->path, std::move(found), std::move(rest)});
}

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  const auto named = detail::directory_at(at);
  if (!named) return claim::none;
  ZARRPOINT_TRY(is_one, detail::is_orbax(named->place));
  return is_one ? claim::sure : claim::none;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  const auto named = detail::directory_at(at);
  if (!named) ZARRPOINT_CHECK(at.check_directory());
  ZARRPOINT_TRY(found, find_tree(named->place, named->item));
  ZARRPOINT_TRY(rest, store_key::parse(named->rest).at(at.path()));
  ZARRPOINT_TRY(is_tree, detail::holds_tree(found.place));
  const auto open = [&]() -> result<any_store> {
    if (!is_tree) return detail::json_store(found.place);
    ZARRPOINT_TRY(tree, tree_store::open(std::move(found.place.store), std::move(found.place.key),
                                         use.memory));
    return any_store(std::move(tree));
  };
  ZARRPOINT_TRY(opened, open());
  return stored_place{std::move(opened), std::move(rest), "Orbax checkpoint"};
}

}}}  // namespace zarrpoint::v0::orbax
