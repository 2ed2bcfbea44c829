// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/group_budget.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/interop/orbax/orbax_documents.hpp>
#include <zarrpoint/interop/orbax/orbax_held.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

inline constexpr std::uint64_t most_document_bytes = std::uint64_t{128} << 20;

/// As for the documents of Zarr.
ZARRPOINT_INLINE json_limits limits_within(std::uint64_t memory) noexcept {
  return v0::detail::document_limits(
      {.memory = static_cast<std::size_t>(memory), .metadata_bytes = most_document_bytes});
}

/// A leaf that is an array: beneath its name lies what `base` has beneath another key.
struct placed_array {
  std::string name;
  store_key storage;
};

ZARRPOINT_INLINE error not_held(const char* why) {
  return {errc::corrupt,
          std::string("no array is stored for it, and the msgpack file \"checkpoint\" ") + why};
}

ZARRPOINT_INLINE bool is_document(std::string_view name) {
  return name == "zarr.json" || name == ".zarray" || name == ".zattrs" || name == ".zgroup" ||
         name == ".zmetadata";
}

}  // namespace detail

struct tree_store::state {
  any_store base;  ///< where the arrays are
  any_store item;  ///< the directory
  orbax::tree tree;
  memory_store made;                         ///< the documents of groups, and the texts
  std::vector<detail::placed_array> arrays;  ///< sorted by name
  std::vector<std::string> keys;             ///< one beneath each array
  std::string name;
  detail::held_leaves held;           ///< what the file `checkpoint` holds
  std::uint64_t document_bytes;       ///< what a document may have
  v0::detail::group_budget budget{};  ///< of the groups in `made`

  /// The array that `key` is or lies beneath, and the rest of the key.
  const detail::placed_array* find(std::string_view key, std::string_view& rest) const {
    std::string_view wanted = key;
    while (true) {
      const auto at = std::lower_bound(
          arrays.begin(), arrays.end(), wanted,
          [](const detail::placed_array& a, std::string_view b) { return a.name < b; });
      if (at != arrays.end() && at->name == wanted) {
        rest = key.substr(wanted.size());
        if (rest.starts_with('/')) rest.remove_prefix(1);
        return &*at;
      }
      if (wanted.empty()) return nullptr;
      const std::size_t slash = wanted.rfind('/');
      wanted = slash == wanted.npos ? std::string_view() : wanted.substr(0, slash);
    }
  }

  result<std::optional<std::vector<std::byte>>> document(std::string_view file) const {
    ZARRPOINT_TRY(key, store_key::parse(file));
    return get(item, key, document_bytes);
  }

  /// Those of what is known by storage name that are leaves, in their order, with their names.
  template <class T>
  std::vector<T> by_leaf(std::vector<T>& known, std::string T::*name) const {
    std::vector<T> out;
    for (const tree_leaf& leaf : tree.leaves) {
      const auto at =
          std::lower_bound(known.begin(), known.end(), leaf.storage,
                           [&](const T& a, const std::string& b) { return a.*name < b; });
      if (at == known.end() || (*at).*name != leaf.storage) continue;
      out.push_back(*at);
      out.back().*name = leaf.name;
    }
    return out;
  }

  result<std::unique_ptr<blob>> open(const store_key& key, const std::string& called) const {
    std::string_view rest;
    const detail::placed_array* const at = find(key.str(), rest);
    if (at == nullptr || rest.empty()) {
      ZARRPOINT_TRY(object, held.open(key.str(), called));
      if (object == nullptr) return made.open(key);
      return std::move(object);
    }
    ZARRPOINT_TRY(stored, at->storage.child(rest));
    ZARRPOINT_TRY(object, base.open(stored));
    if (object == nullptr) ZARRPOINT_CHECK(check_missing(*at, rest).at(called));
    return std::move(object);
  }

  /// What is not there may be missing by right: a document of the other version of Zarr, and a
  /// chunk where those that equal the fill value are left out.
  result<void> check_missing(const detail::placed_array& array, std::string_view rest) const {
    if (!detail::is_document(rest)) {
      if (!tree.has_all_chunks) return {};
      return error{errc::not_found, "it is missing, and Orbax stored every chunk"};
    }
    if (rest != ".zarray") return {};
    ZARRPOINT_TRY(v3, array.storage.child("zarr.json"));
    ZARRPOINT_TRY(document, base.open(v3));
    if (document == nullptr)
      return error{errc::corrupt, "it is missing, and _METADATA says that there is an array"};
    return {};
  }

  result<void> add_group(const std::string& path, const node& attributes = {}) const {
    ZARRPOINT_TRY(at, store_key::parse(path));
    ZARRPOINT_TRY(key, at.child("zarr.json"));
    return made.put(key, as_bytes(detail::group_document(attributes)));
  }

  result<void> add_text(const std::string& path, const std::string& text) const {
    ZARRPOINT_TRY(at, store_key::parse(path));
    ZARRPOINT_TRY(document, at.child("zarr.json"));
    ZARRPOINT_TRY(chunk, at.child("c"));
    ZARRPOINT_CHECK(made.put(document, as_bytes(detail::text_document)));
    return made.put(chunk, detail::text_chunk(text));
  }

  /// The groups above a leaf, of which `last` are there already.
  result<void> add_parents(const std::string& path, std::string& last) {
    for (std::size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
      const std::string group = path.substr(0, at);
      if (last.starts_with(group + '/')) continue;
      ZARRPOINT_CHECK(budget.charge(group));
      ZARRPOINT_CHECK(add_group(group));
    }
    last = path + '/';
    return {};
  }

  result<void> add_stored(const tree_leaf& leaf, std::string_view under) {
    ZARRPOINT_TRY(storage, store_key::parse(under));
    ZARRPOINT_CHECK(store_key::parse(leaf.name));
    keys.push_back(leaf.name.empty() ? std::string("c") : leaf.name + "/c");
    arrays.push_back({leaf.name, std::move(storage)});
    return {};
  }

  result<void> add_leaf(const tree_leaf& leaf, const node& texts,
                        detail::aggregate_leaves* aggregate) {
    if (leaf.value_type == "string" && !leaf.is_skipped) {
      const std::string* const text = detail::text_of(texts, leaf.storage);
      if (text == nullptr) return error{errc::corrupt, "_strings.json has no text for it"};
      return add_text(leaf.name, *text);
    }
    if (leaf.is_empty()) {
      if (leaf.value_type != "None" && !leaf.name.empty()) return add_group(leaf.name);
      return {};
    }
    return leaf.is_skipped ? add_held(leaf, aggregate) : add_stored(leaf, leaf.storage);
  }

  /// What the file `checkpoint` has of a leaf, if it is there.
  result<void> add_held(const tree_leaf& leaf, detail::aggregate_leaves* aggregate) {
    if (aggregate == nullptr) return detail::not_held("is not there");
    const auto at = std::lower_bound(
        aggregate->begin(), aggregate->end(), leaf.name,
        [](const detail::aggregate_leaf& a, const std::string& b) { return a.leaf.name < b; });
    if (at == aggregate->end() || at->leaf.name != leaf.name)
      return detail::not_held("has no value");
    if (at->kind == detail::aggregate_kind::empty) return {};
    if (at->kind == detail::aggregate_kind::placeholder) return add_stored(leaf, at->text);
    return held.add(leaf.name, std::move(*at));
  }
};

ZARRPOINT_INLINE result<tree_store> tree_store::open(any_store base, store_key at,
                                                     std::uint64_t memory) {
  const std::string name = base.describe(at);
  auto opened = guarded([&] { return read(std::move(base), std::move(at), memory); });
  return std::move(opened).at("open the Orbax checkpoint " + name);
}

ZARRPOINT_INLINE result<tree_store> tree_store::read(any_store base, store_key at,
                                                     std::uint64_t memory) {
  const json_limits limits = detail::limits_within(memory);
  const any_store item = at.is_root() ? base : any_store(prefix_store(base, at));
  const auto document = [&](const char* name) -> result<std::optional<std::vector<std::byte>>> {
    ZARRPOINT_TRY(key, store_key::parse(name));
    return get(item, key, limits.max_bytes);
  };
  ZARRPOINT_TRY(metadata, document("_METADATA"));
  ZARRPOINT_TRY(aggregate_key, store_key::parse("checkpoint"));
  ZARRPOINT_TRY(aggregate, item.open(aggregate_key));
  const std::shared_ptr<const blob> file = std::move(aggregate);
  detail::aggregate_leaves held;
  if (file != nullptr) {
    ZARRPOINT_TRY(found, detail::read_aggregate(*file).at("checkpoint"));
    held = std::move(found);
  } else if (!metadata) {
    return error{errc::not_found, "there is no _METADATA"};
  }
  orbax::tree tree;
  if (metadata) {
    ZARRPOINT_TRY(described, read_tree(*metadata, limits).at("_METADATA"));
    tree = std::move(described);
  } else {
    tree.leaves.reserve(held.size());
    for (detail::aggregate_leaf& each : held) {
      tree.leaves.push_back(std::move(each.leaf));
      each.leaf.name = tree.leaves.back().name;  // what is held is found by it
    }
    ZARRPOINT_CHECK(detail::arrange(tree.leaves).at("checkpoint"));
  }
  ZARRPOINT_TRY(strings, document("_strings.json"));
  node texts;
  if (strings) {
    ZARRPOINT_TRY(parsed, parse_json(*strings, limits).at("_strings.json"));
    texts = std::move(parsed);
  }
  ZARRPOINT_TRY(manifest_key, store_key::parse("manifest.ocdbt"));
  ZARRPOINT_TRY(manifest, item.open(manifest_key));
  any_store arrays = item;
  if (manifest != nullptr) {
    ZARRPOINT_TRY(database, ocdbt_store::open(base, at, ocdbt_options{}.within(memory)));
    arrays = std::move(database);
  } else if (tree.is_ocdbt) {
    return error{errc::corrupt,
                 "there is no manifest.ocdbt: its save was not finished; what each process saved "
                 "may be in the databases ocdbt.process_0 and on"};
  }
  auto out = v0::detail::make_counted<state>(state{std::move(arrays),
                                                   item,
                                                   std::move(tree),
                                                   {},
                                                   {},
                                                   {},
                                                   base.describe(at),
                                                   detail::held_leaves(file),
                                                   limits.max_bytes});
  std::string last;
  const bool is_leaf = out->tree.leaves.size() == 1 && out->tree.leaves[0].name.empty();
  if (!is_leaf) ZARRPOINT_CHECK(out->add_group("", out->tree.custom_metadata));
  for (const tree_leaf& leaf : out->tree.leaves) {
    auto added = out->add_parents(leaf.name, last);
    if (added) added = out->add_leaf(leaf, texts, file ? &held : nullptr);
    if (!added)
      return std::move(added).at("the leaf " + v0::detail::in_quotes(leaf.name)).failure();
  }
  v0::detail::sort_names(out->keys);
  out->held.finish();
  return tree_store(std::move(out));
}

ZARRPOINT_INLINE const orbax::tree& tree_store::tree() const noexcept { return state_->tree; }

ZARRPOINT_INLINE result<std::vector<std::pair<std::string, sharding>>> tree_store::shardings()
    const {
  using all = std::vector<std::pair<std::string, sharding>>;
  return guarded([&]() -> result<all> {
    ZARRPOINT_TRY(text, state_->document("_sharding"));
    if (!text) return all();
    ZARRPOINT_TRY(read, read_shardings(*text).at(state_->name + "/_sharding"));
    return state_->by_leaf(read, &std::pair<std::string, sharding>::first);
  });
}

ZARRPOINT_INLINE result<std::vector<array_facts>> tree_store::array_facts() const {
  using facts = orbax::array_facts;
  return guarded([&]() -> result<std::vector<facts>> {
    ZARRPOINT_TRY(folder, store_key::parse("array_metadatas"));
    ZARRPOINT_TRY(files, state_->item.list(folder));
    std::vector<facts> all;
    for (const list_entry& file : files) {
      if (file.is_prefix || !file.name.starts_with("process_")) continue;
      const std::string name = "array_metadatas/" + file.name;
      ZARRPOINT_TRY(text, state_->document(name));
      if (!text) continue;
      ZARRPOINT_TRY(read, read_array_facts(*text).at(state_->name + '/' + name));
      for (facts& each : read) all.push_back(std::move(each));
    }
    v0::detail::sort_by_text(all, [](const facts& one) -> std::string_view { return one.name; });
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].name == all[i - 1].name &&
          (all[i].write_shape != all[i - 1].write_shape || all[i].extra != all[i - 1].extra))
        return error{errc::corrupt, state_->name +
                                        "/array_metadatas: two processes do not agree on " +
                                        v0::detail::in_quotes(all[i].name)};
    all.erase(std::unique(all.begin(), all.end(),
                          [](const facts& a, const facts& b) { return a.name == b.name; }),
              all.end());
    return state_->by_leaf(all, &facts::name);
  });
}

ZARRPOINT_INLINE std::string tree_store::describe(const store_key& key) const {
  std::string_view rest;
  const detail::placed_array* const at = state_->find(key.str(), rest);
  if (at == nullptr || key.is_root())
    return key.is_root() ? state_->name : state_->name + ":" + std::string(key.str());
  const auto stored = at->storage.child(rest);
  return state_->base.describe(stored ? *stored : at->storage);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> tree_store::open(const store_key& key) const {
  return guarded([&] { return state_->open(key, describe(key)); });
}

ZARRPOINT_INLINE result<std::vector<list_entry>> tree_store::list(const store_key& prefix) const {
  return guarded([&]() -> result<std::vector<list_entry>> {
    std::string_view rest;
    if (const detail::placed_array* const at = state_->find(prefix.str(), rest)) {
      ZARRPOINT_TRY(stored, at->storage.child(rest));
      return state_->base.list(stored);
    }
    auto out = v0::detail::list_children(prefix, [&](std::string_view text) {
      const auto at = std::lower_bound(state_->keys.begin(), state_->keys.end(), text);
      return at == state_->keys.end() ? nullptr : &*at;
    });
    ZARRPOINT_TRY(made, state_->made.list(prefix));
    out.insert(out.end(), made.begin(), made.end());
    const auto held = state_->held.list(prefix);
    out.insert(out.end(), held.begin(), held.end());
    // A name that is both comes once, as what keys lie beneath.
    v0::detail::sort_by(out, [](const list_entry& a, const list_entry& b) {
      return a.name != b.name ? a.name < b.name : a.is_prefix && !b.is_prefix;
    });
    const auto same = [](const list_entry& a, const list_entry& b) { return a.name == b.name; };
    out.erase(std::unique(out.begin(), out.end(), same), out.end());
    return out;
  });
}

}}}  // namespace zarrpoint::v0::orbax
