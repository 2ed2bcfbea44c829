// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 { namespace orbax {

// ---------------------------------------------------------------------------------- orbax_step.hpp

namespace detail {

ZARRPOINT_INLINE result<bool> holds(const stored_place& directory, std::string_view name) {
  ZARRPOINT_TRY(key, directory.key.child(name));
  ZARRPOINT_TRY(object, directory.store.open(key));
  return object != nullptr;
}

ZARRPOINT_INLINE result<bool> holds_tree(const stored_place& directory) {
  ZARRPOINT_TRY(has, holds(directory, "_METADATA"));
  if (has) return true;
  ZARRPOINT_TRY(key, directory.key.child("checkpoint"));
  ZARRPOINT_TRY(object, directory.store.open(key));
  if (object == nullptr) return false;
  return is_aggregate(*object);
}

ZARRPOINT_INLINE result<void> check_metadata(const stored_place& directory) {
  ZARRPOINT_TRY(children, directory.store.list(directory.key));
  for (const list_entry& child : children)
    if (child.name == "manifest.ocdbt" || child.name == "_sharding" ||
        child.name == "array_metadatas" || child.name == "_strings.json")
      return error{errc::corrupt,
                   directory.store.describe(directory.key) + ": its _METADATA is missing, and " +
                       v0::detail::in_quotes(child.name) +
                       " is there: copy it once more, with the files whose names begin with \"_\""};
  return {};
}

ZARRPOINT_INLINE result<std::vector<std::string>> finished_beneath(const stored_place& directory) {
  ZARRPOINT_TRY(children, directory.store.list(directory.key));
  std::vector<std::string> out;
  for (const list_entry& child : children)
    if (child.is_prefix && child.name.find(unfinished_mark) == child.name.npos)
      out.push_back(child.name);
  return out;
}

ZARRPOINT_INLINE result<std::string> json_file(const stored_place& item) {
  for (const char* name : {"data.json", "metadata", "metrics"}) {
    ZARRPOINT_TRY(has, holds(item, name));
    if (has) return std::string(name);
  }
  return std::string();
}

}  // namespace detail

ZARRPOINT_INLINE result<checkpoint_facts> read_checkpoint_facts(bytes_view text) {
  ZARRPOINT_TRY(document, parse_json(text));
  if (document.if_object() == nullptr)
    return error{errc::corrupt, "_CHECKPOINT_METADATA is not an object"};
  checkpoint_facts out;
  json strange;
  for (json::member& entry : *document.if_object()) {
    const auto time = entry.value.to_uint64();
    if (entry.key == "item_handlers") {
      out.item_handlers = std::move(entry.value);
    } else if (entry.key == "metrics") {
      out.metrics = std::move(entry.value);
    } else if (entry.key == "performance_metrics") {
      out.performance_metrics = std::move(entry.value);
    } else if (entry.key == "init_timestamp_nsecs") {
      out.begin_time = time;
    } else if (entry.key == "commit_timestamp_nsecs") {
      out.commit_time = time;
    } else if (entry.key == "custom_metadata" || entry.key == "custom") {
      out.custom_metadata = std::move(entry.value);
    } else {
      strange.set(entry.key, std::move(entry.value));
    }
  }
  // As Orbax does; what the user said comes first.
  if (strange.if_object() != nullptr)
    for (json::member& entry : *strange.if_object())
      if ((out.custom_metadata.is_null() || out.custom_metadata.if_object() != nullptr) &&
          out.custom_metadata.find(entry.key) == nullptr)
        out.custom_metadata.set(entry.key, std::move(entry.value));
  return out;
}

ZARRPOINT_INLINE result<std::vector<step_item>> list_items(const stored_place& step) {
  ZARRPOINT_TRY(names, detail::finished_beneath(step));
  std::vector<step_item> out;
  for (const std::string& name : names) {
    ZARRPOINT_TRY(key, step.key.child(name));
    const stored_place item{step.store, std::move(key)};
    ZARRPOINT_TRY(is_tree, detail::holds_tree(item));
    if (is_tree) {
      out.push_back({name, item_kind::tree});
      continue;
    }
    ZARRPOINT_TRY(file, detail::json_file(item));
    out.push_back({name, file.empty() ? item_kind::other : item_kind::json});
  }
  return out;
}

ZARRPOINT_INLINE result<json> read_json_item(const stored_place& item) {
  constexpr std::uint64_t most_bytes = std::uint64_t{128} << 20;
  return guarded([&]() -> result<json> {
    ZARRPOINT_TRY(name, detail::json_file(item));
    if (name.empty())
      return error{errc::not_found, item.store.describe(item.key) +
                                        " is not an item of JSON: no data.json, "
                                        "metadata or metrics"};
    ZARRPOINT_TRY(key, item.key.child(name));
    ZARRPOINT_TRY(text, get(item.store, key, most_bytes));
    return parse_json(text ? bytes_view(*text) : bytes_view()).at(item.store.describe(key));
  });
}

// --------------------------------------------------------------------------------- orbax_store.hpp

namespace detail {

inline constexpr std::uint64_t most_document_bytes = std::uint64_t{128} << 20;

/// As for the documents of Zarr.
ZARRPOINT_INLINE json_limits limits_within(std::uint64_t memory) noexcept {
  return v0::detail::document_limits(
      {.memory = static_cast<std::size_t>(memory), .metadata_bytes = most_document_bytes});
}

/// What is stored of a leaf.
struct shown_leaf {
  enum class kind : std::uint8_t {
    array,    ///< documents of its own and chunks, beneath `key` of `base`
    text,     ///< `text`
    inline_,  ///< elements in the file `checkpoint`, or in `text` those of a scalar
    fault,    ///< nothing; `text` says why
  };

  const tree_leaf* leaf;
  kind is = kind::array;
  std::optional<any_store> base{};
  store_key key = store_key::root();
  std::string text{};
  std::unique_ptr<aggregate_array> inline_array{};
};

/// Whether Orbax itself keeps leaves of that kind as arrays; others have handlers of the user's.
ZARRPOINT_INLINE bool is_array_type(std::string_view value_type) {
  return value_type == "jax.Array" || value_type == "np.ndarray" || value_type == "scalar";
}

/// `.zarray` of a leaf that cannot be read. A type makes it `unsupported`; with none it is damage.
ZARRPOINT_INLINE std::string unread_v2(std::string_view type) {
  if (type.empty()) return dump_json(json::object{{"zarr_format", 2}, {"dtype", "missing"}});
  // No type of Zarr v2 has a period in it.
  const bool is_class = type.find('.') != type.npos;
  return dump_json(
      json::object{{"zarr_format", 2},
                   {"shape", json::array{}},
                   {"chunks", json::array{}},
                   {"dtype", (is_class ? "" : "orbax.") + v0::detail::printable(type, 200)},
                   {"fill_value", 0},
                   {"order", "C"},
                   {"compressor", json()},
                   {"filters", json()}});
}

/// `zarr.json` of an array that is `corrupt` to all who open it, and no other leaf with it.
ZARRPOINT_INLINE json fault_document(const std::string& reason) {
  return json::object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"data_type", "missing"},
      {"attributes", json::object{{std::string(v0::detail::unread_member), reason}}}};
}

/// Whether a name may be that of a chunk of Zarr v2.
ZARRPOINT_INLINE bool may_be_chunk(std::string_view name) {
  return name.find_first_not_of("0123456789.") == name.npos;
}

ZARRPOINT_INLINE bool is_document(std::string_view name) {
  return name == "zarr.json" || name == ".zarray" || name == ".zattrs" || name == ".zgroup" ||
         name == ".zmetadata";
}

}  // namespace detail

struct tree_store::state final : v0::detail::lazy_nodes {
  any_store base;  ///< where the arrays are
  any_store item;  ///< the directory
  orbax::tree tree;
  v0::detail::virtual_hierarchy shown{};
  std::vector<detail::shown_leaf> leaves{};  ///< the nodes of `shown`, by their numbers
  std::vector<std::string_view> storages{};  ///< of the arrays, sorted
  std::optional<ocdbt_store> database{};     ///< what `base` is, if it is one
  std::string name;
  std::shared_ptr<const blob> file;  ///< `checkpoint`, or null
  std::uint64_t document_bytes;      ///< what a document may have

  state(any_store arrays, any_store directory, orbax::tree described, std::string called,
        std::shared_ptr<const blob> checkpoint, std::uint64_t most)
      : base(std::move(arrays)),
        item(std::move(directory)),
        tree(std::move(described)),
        name(std::move(called)),
        file(std::move(checkpoint)),
        document_bytes(most) {}

  std::string original_name(std::size_t number) const override {
    return leaves[number].leaf->original_name();
  }

  result<json> document(std::size_t number) const override {
    const detail::shown_leaf& of = leaves[number];
    using kind = detail::shown_leaf::kind;
    if (of.is == kind::fault) return detail::fault_document(of.text);
    if (of.is == kind::inline_) return detail::array_document(*of.inline_array);
    ZARRPOINT_TRY(empty, v0::detail::array_of_texts({}, {""}));
    return to_v3(empty.metadata);
  }

  result<dims> counts(std::size_t number) const override {
    const detail::shown_leaf& of = leaves[number];
    if (of.is == detail::shown_leaf::kind::fault) return dims{0};
    if (of.is == detail::shown_leaf::kind::text) return dims();
    const bool has_none = of.text.empty() && of.inline_array->pieces.empty();
    return dims(of.inline_array->shape.size(), has_none ? 0 : 1);
  }

  result<std::unique_ptr<blob>> chunk(std::size_t number, std::string_view key,
                                      std::string called) const override {
    ZARRPOINT_TRY(there, counts(number));
    if (!v0::detail::chunk_index(key, there)) return std::unique_ptr<blob>();
    const detail::shown_leaf& of = leaves[number];
    if (of.is == detail::shown_leaf::kind::text) {
      ZARRPOINT_TRY(made, v0::detail::array_of_texts({}, {of.text}));
      return v0::detail::make_owned<blob, v0::detail::memory_blob>(std::move(made.chunk),
                                                                   std::move(called));
    }
    if (!of.text.empty()) return v0::detail::text_blob(of.text, std::move(called));
    return detail::aggregate_elements(file, of.inline_array->pieces);
  }

  result<std::unique_ptr<blob>> open(const v0::detail::hierarchy_place& at, std::string_view key,
                                     std::string called) const override {
    const detail::shown_leaf& of = leaves[at.number];
    if (of.is != detail::shown_leaf::kind::array)
      return lazy_nodes::open(at, key, std::move(called));
    if (key.empty()) return std::unique_ptr<blob>();
    ZARRPOINT_TRY(stored, open_stored(of, key, called));
    return with_name(at, key, std::move(stored), document_bytes);
  }

  result<std::vector<list_entry>> list(std::size_t number, std::string_view prefix) const override {
    const detail::shown_leaf& of = leaves[number];
    if (of.is != detail::shown_leaf::kind::array) return lazy_nodes::list(number, prefix);
    return list_array(of, prefix);
  }

  std::string describe(std::size_t number, std::string_view rest) const override {
    const detail::shown_leaf& of = leaves[number];
    if (of.is != detail::shown_leaf::kind::array) return {};
    return of.base->describe(of.key.child(rest).value_or(of.key));
  }

  result<std::optional<std::vector<std::byte>>> read_file(std::string_view file) const {
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

  std::unique_ptr<blob> document_of(std::string_view text, const tree_leaf& leaf) const {
    return v0::detail::text_blob(text, name + ':' + leaf.name);
  }

  result<std::unique_ptr<blob>> open_stored(const detail::shown_leaf& array, std::string_view rest,
                                            const std::string& called) const {
    ZARRPOINT_TRY(stored, array.key.child(rest));
    ZARRPOINT_TRY(object, array.base->open(stored));
    if (object != nullptr) return std::move(object);
    if (rest == ".zarray" || rest == ".zattrs") return instead_of(array, rest);
    if (!detail::is_array_type(array.leaf->value_type) && rest.starts_with("c/")) {
      ZARRPOINT_TRY(files, foreign_files(array));
      for (std::size_t i = 0; i < files.size(); ++i)
        if (rest.substr(2) == std::to_string(i)) return item.open(files[i]);
    }
    // A chunk may be missing by right where those that equal the fill value are left out.
    if (tree.has_all_chunks && !detail::is_document(rest))
      return error{errc::not_found, "it is missing, and Orbax stored every chunk"}.at(called);
    return std::move(object);
  }

  /// What stands for a document of Zarr v2 that is not there.
  result<std::unique_ptr<blob>> instead_of(const detail::shown_leaf& array,
                                           std::string_view wanted) const {
    using made = std::unique_ptr<blob>;
    for (const char* name : {".zarray", "zarr.json"}) {
      if (wanted == name) continue;
      ZARRPOINT_TRY(key, array.key.child(name));
      ZARRPOINT_TRY(document, array.base->open(key));
      if (document != nullptr) return made();
    }
    ZARRPOINT_TRY(other, other_document(array));
    if (other != nullptr) return wanted == ".zarray" ? std::move(other) : made();
    const std::string& type = array.leaf->value_type;
    const bool is_known = detail::is_array_type(type);
    if (wanted == ".zarray")
      return document_of(detail::unread_v2(is_known ? "" : type), *array.leaf);
    const std::string reason =
        is_known ? array.base->describe(array.key) +
                       " is missing, and _METADATA says that there is an array"
                 : "a handler of the user's own saved it, of the type " +
                       v0::detail::in_quotes(type) + ", which Orbax itself does not have";
    return document_of(dump_json(json::object{{std::string(v0::detail::unread_member), reason}}),
                       *array.leaf);
  }

  /// The document that has another name, as Orbax's handlers take with `metadata_key`.
  result<std::unique_ptr<blob>> other_document(const detail::shown_leaf& array) const {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
    ZARRPOINT_TRY(children, array.base->list(array.key));
    for (const list_entry& child : children) {
      if (child.is_prefix || detail::may_be_chunk(child.name)) continue;
      ZARRPOINT_TRY(key, array.key.child(child.name));
      ZARRPOINT_TRY(document, array.base->open(key));
      if (document == nullptr || document->size() > most_bytes) continue;
      std::vector<std::byte> text(static_cast<std::size_t>(document->size()));
      ZARRPOINT_CHECK(document->read(0, text));
      const auto parsed = parse_json(text);
      const json* const format = parsed ? parsed->find("zarr_format") : nullptr;
      if (format != nullptr && format->to_int64() == 2 && parsed->find("shape") != nullptr)
        return std::move(document);
    }
    return std::unique_ptr<blob>();
  }

  /// What a handler of the user's may have written for a leaf: what bears its name, and what that
  /// name and a period begin.
  result<std::vector<store_key>> foreign_files(const detail::shown_leaf& array) const {
    constexpr std::size_t most = 1000;  // each is found anew for each that is opened
    const std::string& own = array.leaf->storage;
    std::vector<store_key> out;
    ZARRPOINT_TRY(children, item.list(store_key::root()));
    std::vector<store_key> open;
    const auto take = [&](const store_key& above, const list_entry& child) -> result<void> {
      ZARRPOINT_TRY(key, above.child(child.name));
      (child.is_prefix ? open : out).push_back(std::move(key));
      return {};
    };
    for (const list_entry& child : children) {
      const bool is_own =
          child.name == own || (child.name.starts_with(own + '.') &&
                                !std::binary_search(storages.begin(), storages.end(), child.name));
      if (is_own && !own.empty()) ZARRPOINT_CHECK(take(store_key::root(), child));
    }
    while (!open.empty() && out.size() + open.size() <= most) {
      const store_key folder = std::move(open.back());
      open.pop_back();
      ZARRPOINT_TRY(beneath, item.list(folder));
      for (const list_entry& child : beneath) ZARRPOINT_CHECK(take(folder, child));
    }
    if (out.size() + open.size() > most)
      return error{errc::resource_limit, "more than " + std::to_string(most) +
                                             " files bear the name of the leaf " +
                                             v0::detail::in_quotes(array.leaf->name)};
    v0::detail::sort_by(out, [](const store_key& a, const store_key& b) { return a < b; });
    return out;
  }

  /// What lies beneath an array, but for what is another's.
  result<std::vector<list_entry>> list_array(const detail::shown_leaf& array,
                                             std::string_view rest) const {
    ZARRPOINT_TRY(stored, array.key.child(rest));
    ZARRPOINT_TRY(out, array.base->list(stored));
    std::erase_if(out, [&](list_entry& child) {
      if (!child.is_prefix || child.name == "c") return false;
      std::string above = array.leaf->storage;
      for (const std::string_view part : {rest, std::string_view(child.name)})
        if (!part.empty()) above.append(above.empty() ? "" : "/").append(part);
      bool is_other = std::binary_search(storages.begin(), storages.end(), above);
      if (!is_other && detail::may_be_chunk(child.name)) return false;
      above += '/';
      const auto at = std::lower_bound(storages.begin(), storages.end(), above);
      is_other = is_other || (at != storages.end() && at->starts_with(above));
      if (!is_other) return false;
      // An object may have the same name.
      const auto same = stored.child(child.name);
      const auto object = same ? array.base->open(*same) : std::unique_ptr<blob>();
      child.is_prefix = false;
      return object && *object == nullptr;
    });
    if (detail::is_array_type(array.leaf->value_type) || (!rest.empty() && rest != "c")) return out;
    ZARRPOINT_TRY(document, instead_of(array, ".zattrs"));  // only where there is none
    if (document == nullptr) return out;
    ZARRPOINT_TRY(files, foreign_files(array));
    if (files.empty()) return out;
    out.clear();
    if (rest.empty()) out.push_back({"c", true});
    for (std::size_t i = 0; !rest.empty() && i < files.size(); ++i)
      out.push_back({std::to_string(i), false});
    v0::detail::sort_by(out, [](const list_entry& a, const list_entry& b) { return a < b; });
    return out;
  }

  void add(detail::shown_leaf what) {
    shown.add(what.leaf->name, *this, leaves.size());
    leaves.push_back(std::move(what));
  }

  void add_fault(const tree_leaf& leaf, std::string reason) {
    add({.leaf = &leaf, .is = detail::shown_leaf::kind::fault, .text = std::move(reason)});
  }

  void add_stored(const tree_leaf& leaf, const std::string& under) {
    auto key = store_key::parse(under);
    if (!key && !database) return add_fault(leaf, std::string(key.failure().message));
    if (key) {
      add({.leaf = &leaf, .base = base, .key = *std::move(key)});
    } else {
      add({.leaf = &leaf, .base = database->beneath(under.ends_with('/') ? under : under + '/')});
    }
  }

  /// What is empty has no node: the groups above it are there.
  void add_group_of(const tree_leaf& leaf) {
    const std::string_view name = leaf.name;
    const bool is_group = leaf.value_type != "None" && leaf.is_empty();
    const std::size_t slash = name.rfind('/');
    const std::string_view group = is_group ? name : name.substr(0, slash == name.npos ? 0 : slash);
    if (!group.empty()) shown.add_group(std::string(group));
  }

  void add_leaf(const tree_leaf& leaf, const json& texts, detail::aggregate_leaves* aggregate) {
    if (leaf.value_type == "string" && !leaf.is_skipped) {
      const std::string* const text = detail::text_of(texts, leaf.storage);
      if (text == nullptr) return add_fault(leaf, "_strings.json has no text for it");
      return add({.leaf = &leaf, .is = detail::shown_leaf::kind::text, .text = *text});
    }
    if (leaf.is_empty()) return add_group_of(leaf);
    return leaf.is_skipped ? add_inline(leaf, aggregate) : add_stored(leaf, leaf.storage);
  }

  /// What the file `checkpoint` has of a leaf, if it is there.
  void add_inline(const tree_leaf& leaf, detail::aggregate_leaves* aggregate) {
    const auto lost = [&](const char* why) {
      return add_fault(
          leaf,
          std::string("no array is stored for it, and the msgpack file \"checkpoint\" ") + why);
    };
    if (aggregate == nullptr) return lost("is not there");
    const std::string path = detail::path_text(leaf.path);
    const auto at = std::lower_bound(
        aggregate->begin(), aggregate->end(), path,
        [](const detail::aggregate_leaf& a, const std::string& b) { return a.leaf.name < b; });
    if (at == aggregate->end() || at->leaf.name != path) return lost("has no value for it");
    if (at->kind == detail::aggregate_kind::empty) return add_group_of(leaf);
    if (at->kind == detail::aggregate_kind::placeholder) return add_stored(leaf, at->text);
    using kind = detail::shown_leaf::kind;
    add({.leaf = &leaf,
         .is = at->array ? kind::inline_ : kind::text,
         .text = std::move(at->text),
         .inline_array = std::move(at->array)});
  }

  /// Once all are added.
  result<void> finish() {
    for (const detail::shown_leaf& each : leaves)
      if (each.is == detail::shown_leaf::kind::array) storages.push_back(each.leaf->storage);
    v0::detail::sort_names(storages);
    const bool has_attributes = tree.custom_metadata.if_object() != nullptr;
    return shown.finish(has_attributes ? tree.custom_metadata : json(), true);
  }
};

ZARRPOINT_INLINE tree_store::tree_store(std::shared_ptr<const state> opened)
    : virtual_store({opened, &opened->shown}, opened->name), state_(std::move(opened)) {}

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
    ZARRPOINT_CHECK(detail::check_metadata({item, store_key::root()}));
    ZARRPOINT_TRY(children, item.list(store_key::root()));
    return error{errc::not_found, children.empty() ? "there is no such directory, or it is empty"
                                                   : "there is no _METADATA"};
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
    detail::arrange(tree.leaves);
  }
  ZARRPOINT_TRY(strings, document("_strings.json"));
  json texts;
  if (strings) {
    ZARRPOINT_TRY(parsed, parse_json(*strings, limits).at("_strings.json"));
    texts = std::move(parsed);
  }
  ZARRPOINT_TRY(manifest_key, store_key::parse("manifest.ocdbt"));
  ZARRPOINT_TRY(manifest, item.open(manifest_key));
  std::optional<ocdbt_store> database;
  const auto is_stored = [](const tree_leaf& leaf) {
    return !leaf.is_skipped && !leaf.is_empty() && detail::is_array_type(leaf.value_type);
  };
  if (manifest != nullptr) {
    ZARRPOINT_TRY(opened, ocdbt_store::open(base, at, ocdbt_options{}.within(memory)));
    database = std::move(opened);
  } else if (tree.is_ocdbt && std::any_of(tree.leaves.begin(), tree.leaves.end(), is_stored)) {
    return error{errc::corrupt,
                 "there is no manifest.ocdbt: its save was not finished; what each process saved "
                 "may be in the databases ocdbt.process_0 and on"};
  }
  auto out =
      v0::detail::make_counted<state>(database ? any_store(database->beneath("")) : item, item,
                                      std::move(tree), base.describe(at), file, limits.max_bytes);
  out->database = std::move(database);
  for (const tree_leaf& leaf : out->tree.leaves) out->add_leaf(leaf, texts, file ? &held : nullptr);
  ZARRPOINT_CHECK(out->finish());
  return tree_store(std::move(out));
}

ZARRPOINT_INLINE const orbax::tree& tree_store::tree() const noexcept { return state_->tree; }

ZARRPOINT_INLINE result<std::vector<std::pair<std::string, sharding>>> tree_store::shardings()
    const {
  using all = std::vector<std::pair<std::string, sharding>>;
  return guarded([&]() -> result<all> {
    ZARRPOINT_TRY(text, state_->read_file("_sharding"));
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
      ZARRPOINT_TRY(text, state_->read_file(name));
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

// -------------------------------------------------------------------------------- orbax_format.hpp

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
  const json::object* const items = facts.item_handlers.if_object();
  if (items == nullptr) return {};
  for (const json::member& item : *items) {
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
  json attributes;
  if (value.if_object() != nullptr) {
    attributes = std::move(value);
  } else {
    attributes.set("value", std::move(value));
  }
  v0::detail::virtual_hierarchy made;
  ZARRPOINT_CHECK(made.finish(attributes));
  return any_store(v0::detail::virtual_store(std::move(made), item.store.describe(item.key)));
}

}  // namespace detail

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  const auto named = detail::directory_at(at);
  if (!named) return claim::none;
  ZARRPOINT_TRY(is_one, detail::is_orbax(named->place));
  return is_one ? claim::sure : claim::none;
}

namespace detail {

/// The tree that a look leads to.
ZARRPOINT_INLINE result<found_path> find_by_look(const place_look& at) {
  const auto named = directory_at(at);
  if (!named) ZARRPOINT_CHECK(at.check_directory());
  ZARRPOINT_TRY(found, find_tree(named->place, named->item));
  ZARRPOINT_TRY(rest, store_key::parse(named->rest).at(at.path()));
  return found_path{named->path, std::move(found), std::move(rest)};
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<found_path>> find_at(const std::string& path,
                                                           link_scope links) {
  const place_look at(path, links);
  ZARRPOINT_TRY(claimed, format::sniff(at));
  if (claimed == claim::none) return std::optional<found_path>();
  ZARRPOINT_TRY(found, detail::find_by_look(at));
  return std::optional(std::move(found));
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_TRY(found, detail::find_by_look(at));
  const stored_place& directory = found.found.place;
  ZARRPOINT_TRY(is_tree, detail::holds_tree(directory));
  const auto open = [&]() -> result<any_store> {
    if (!is_tree) return detail::json_store(directory);
    ZARRPOINT_TRY(tree, tree_store::open(directory.store, directory.key, use.memory));
    return any_store(std::move(tree));
  };
  ZARRPOINT_TRY(opened, open());
  return stored_place{std::move(opened), std::move(found.rest), "Orbax checkpoint"};
}

}}}  // namespace zarrpoint::v0::orbax

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/ocdbt/read_bodies.hpp>
#include <zarrpoint/interop/orbax/metadata_bodies.hpp>
#endif
