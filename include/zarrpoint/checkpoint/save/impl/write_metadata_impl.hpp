// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_limits.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/consolidated_v2.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> put_document(const any_store& store, const store_key& node_key,
                                           std::string_view file, const node& document) {
  ZARRPOINT_TRY(key, node_key.child(file));
  return store.put(key, as_bytes(dump_json(document, json_style::pretty)));
}

ZARRPOINT_INLINE result<node> array_document(const array_metadata& metadata) {
  if (metadata.zarr_format != 2) return to_v3(metadata);
  ZARRPOINT_TRY(documents, to_v2(metadata));
  return std::move(documents.document);
}

ZARRPOINT_INLINE result<void> put_array_document(const any_store& store, const store_key& key,
                                                 const leaf_record& leaf, int zarr_format) {
  if (zarr_format != 2) return put_document(store, key, "zarr.json", leaf.metadata);
  if (!leaf.attributes.is_null())
    ZARRPOINT_CHECK(put_document(store, key, ".zattrs", leaf.attributes));
  return put_document(store, key, ".zarray", leaf.metadata);
}

ZARRPOINT_INLINE result<node> group_document(int zarr_format) {
  if (zarr_format == 2) return node(node::object{{"zarr_format", 2}});
  return to_v3(group_metadata{});
}

ZARRPOINT_INLINE result<void> put_group_documents(const any_store& store,
                                                  const std::set<std::string>& groups,
                                                  const node::object& attributes, int zarr_format) {
  ZARRPOINT_TRY(bare, group_document(zarr_format));
  for (const std::string& group : groups) {
    ZARRPOINT_TRY(key, store_key::parse(group));
    const node* own = find_sorted(attributes, group);
    if (zarr_format == 2) {
      if (own != nullptr) ZARRPOINT_CHECK(put_document(store, key, ".zattrs", *own));
      ZARRPOINT_CHECK(put_document(store, key, ".zgroup", bare));
    } else if (own != nullptr) {
      ZARRPOINT_TRY(document, to_v3(group_metadata{.attributes = *own}));
      ZARRPOINT_CHECK(put_document(store, key, "zarr.json", document));
    } else {
      ZARRPOINT_CHECK(put_document(store, key, "zarr.json", bare));
    }
  }
  return {};
}

ZARRPOINT_INLINE result<node> consolidate_v2(const commit_document& document,
                                             const std::set<std::string>& groups,
                                             const node& attributes) {
  ZARRPOINT_TRY(group, group_document(2));
  std::vector<v2_node> nodes{{"", node_kind::group, group, attributes}};
  for (const std::string& path : groups) {
    const node* own = find_sorted(document.group_attributes, path);
    nodes.push_back({path, node_kind::group, group, own != nullptr ? *own : node()});
  }
  for (const leaf_record& leaf : document.leaves)
    nodes.push_back({leaf.name, node_kind::array, leaf.metadata, leaf.attributes});
  return to_zmetadata(nodes);
}

/// How deep the root's document may be, as `check_writable` has it.
inline constexpr std::size_t root_levels = 48;

/// The compact text of each leaf's document.
class leaf_texts {
 public:
  explicit leaf_texts(const root_document& of) : given_(of.documents), of_(of.commit) {}

  result<std::span<const std::string_view>> get() {
    if (given_.size() == of_.leaves.size()) return given_;
    made_.reserve(of_.leaves.size());
    for (const leaf_record& leaf : of_.leaves) {
      ZARRPOINT_CHECK(check_writable(leaf.metadata, root_levels - 5).at(in_quotes(leaf.name)));
      made_.push_back(dump_json(leaf.metadata, json_style::compact));
    }
    views_.assign(made_.begin(), made_.end());
    return std::span<const std::string_view>(views_);
  }

 private:
  std::span<const std::string_view> given_;
  const commit_document& of_;
  std::vector<std::string> made_;
  std::vector<std::string_view> views_;
};

/// Names and attributes read back as what they are.
ZARRPOINT_INLINE result<void> check_root(const root_document& of) {
  const node& attributes = of.options.attributes;
  ZARRPOINT_CHECK(check_writable_attributes(attributes));
  ZARRPOINT_CHECK(check_writable(attributes, root_levels - 1));
  for (const node::member& group : of.commit.group_attributes)
    ZARRPOINT_CHECK(check_writable(group.value, root_levels - 4).at(in_quotes(group.key)));
  const auto check = [](std::string_view path) -> result<void> {
    if (!is_utf8(path))
      return error{errc::invalid_argument, "key " + in_quotes(path) + " is not UTF-8"};
    auto safe = check_safe_path(path);
    if (safe) return safe;
    return error{errc::invalid_argument, safe.failure().message};
  };
  for (const std::string& group : of.groups) ZARRPOINT_CHECK(check(group));
  for (const leaf_record& leaf : of.commit.leaves) ZARRPOINT_CHECK(check(leaf.name));
  return {};
}

/// Appends the caller's attributes with the commit document among them, as the last.
ZARRPOINT_INLINE void append_root_attributes(std::string& out, const root_document& of,
                                             std::span<const std::string_view> documents) {
  const node& given = of.options.attributes;
  const std::string attributes = dump_json(given.is_null() ? node(node::object{}) : given);
  out.append(attributes, 0, attributes.size() - 1);
  if (out.back() != '{') out += ',';
  write_json_string(out, commit_document::member_name);
  out += ':';
  append_commit(out, of.commit, text_seal(attributes), documents);
  out += '}';
}

/// Appends every node below the root, by depth and then by name, as zarr-python orders them.
ZARRPOINT_INLINE result<void> append_consolidated(std::string& out, const root_document& of,
                                                  std::span<const std::string_view> documents) {
  struct entry {
    std::string_view path;
    std::string_view text;
    std::ptrdiff_t depth;
  };
  std::vector<entry> nodes;
  nodes.reserve(of.groups.size() + documents.size());
  const auto add = [&](std::string_view path, std::string_view text) {
    nodes.push_back({path, text, std::count(path.begin(), path.end(), '/')});
  };
  // zarr-python marks groups below with an empty consolidation of their own.
  group_metadata marked;
  marked.consolidated.emplace();
  ZARRPOINT_TRY(bare, to_v3(marked));
  const std::string bare_text = dump_json(bare, json_style::compact);
  std::vector<std::string> with_attributes;
  with_attributes.reserve(of.commit.group_attributes.size());
  for (const std::string& path : of.groups) {
    const node* own = find_sorted(of.commit.group_attributes, path);
    if (own == nullptr) {
      add(path, bare_text);
      continue;
    }
    marked.attributes = *own;
    ZARRPOINT_TRY(group, to_v3(marked));
    add(path, with_attributes.emplace_back(dump_json(group, json_style::compact)));
  }
  for (std::size_t i = 0; i < documents.size(); ++i) add(of.commit.leaves[i].name, documents[i]);
  sort_by(nodes, [](const entry& a, const entry& b) {
    return a.depth != b.depth ? a.depth < b.depth : a.path < b.path;
  });
  out += R"("consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{)";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i != 0) {
      if (nodes[i].path == nodes[i - 1].path)
        return error{errc::invalid_argument, "key " + in_quotes(nodes[i].path) + " occurs twice"};
      out += ',';
    }
    write_json_string(out, nodes[i].path);
    out += ':';
    out += nodes[i].text;
  }
  out += "}}";
  return {};
}

/// The values of a compact text, as the parser counts them.
ZARRPOINT_INLINE std::size_t count_values(std::string_view text) {
  std::size_t out = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',' || ((c == '[' || c == '{') && text[i + 1] != ']' && text[i + 1] != '}')) {
      ++out;
    }
  }
  return out;
}

/// Why a document would not be read back; empty when it would be.
ZARRPOINT_INLINE std::string reading_limit(const std::string& text, std::size_t max_bytes) {
  const auto over = [&](std::size_t count, const char* what, std::size_t most) {
    return std::to_string(count) + what + std::to_string(most);
  };
  if (text.size() > max_bytes)
    return over(text.size(), " bytes; limits::metadata_bytes allows ", max_bytes);
  const std::size_t most = json_limits{.max_bytes = max_bytes}.node_limit();
  if (text.size() / 2 < most) return {};  // a value takes two bytes at least
  const std::size_t values = count_values(text);
  if (values <= most) return {};
  return over(values, " values; limits::metadata_bytes allows ", most);
}

ZARRPOINT_INLINE result<std::string> root_text_v3(const root_document& of, bool consolidated) {
  leaf_texts texts(of);
  ZARRPOINT_TRY(documents, texts.get());
  std::size_t bytes = 4096;
  for (const std::string_view text : documents) bytes += 2 * text.size() + 256;
  std::string out;
  out.reserve(bytes);
  out += R"({"zarr_format":3,"node_type":"group","attributes":)";
  append_root_attributes(out, of, documents);
  if (consolidated) {
    out += ',';
    ZARRPOINT_CHECK(append_consolidated(out, of, documents));
  }
  out += '}';
  return out;
}

ZARRPOINT_INLINE result<bool> put_root_document(const any_store& store, const root_document& of) {
  const store_key root = store_key::root();
  const bool is_v2 = of.options.zarr_format == 2;
  bool consolidated = of.options.consolidated_metadata;
  std::string text;
  std::string limit;
  if (is_v2) {
    // A checkpoint without its .zattrs must not pass for a hierarchy of others.
    ZARRPOINT_TRY(group, group_document(2));
    group.set(std::string(commit_document::member_name), of.commit.id);
    ZARRPOINT_CHECK(put_document(store, root, ".zgroup", group));
    if (consolidated) {
      ZARRPOINT_TRY(nodes, consolidate_v2(of.commit, of.groups, of.options.attributes));
      text = dump_json(nodes, json_style::compact);
      consolidated = reading_limit(text, of.max_bytes).empty();
    }
    if (consolidated) {
      ZARRPOINT_TRY(key, root.child(".zmetadata"));
      ZARRPOINT_CHECK(store.put(key, as_bytes(text)));
    }
    leaf_texts texts(of);
    ZARRPOINT_TRY(documents, texts.get());
    text.clear();
    append_root_attributes(text, of, documents);
    limit = reading_limit(text, of.max_bytes);
  } else {
    ZARRPOINT_CHECK(check_root(of));
    ZARRPOINT_TRY(whole, root_text_v3(of, consolidated));
    limit = reading_limit(whole, of.max_bytes);
    text = std::move(whole);
    if (consolidated && !limit.empty()) {
      consolidated = false;
      ZARRPOINT_TRY(shorter, root_text_v3(of, false));
      limit = reading_limit(shorter, of.max_bytes);
      text = std::move(shorter);
    }
  }
  if (!limit.empty())
    return error{errc::resource_limit, "the commit document of " +
                                           std::to_string(of.commit.leaves.size()) +
                                           " leaves takes " + limit};
  ZARRPOINT_TRY(key, root.child(is_v2 ? ".zattrs" : "zarr.json"));
  ZARRPOINT_CHECK(store.put(key, as_bytes(text)));
  return consolidated == of.options.consolidated_metadata;
}

ZARRPOINT_INLINE result<bool> put_hierarchy(const any_store& store, const root_document& of,
                                            bool all_core) {
  ZARRPOINT_CHECK(
      put_group_documents(store, of.groups, of.commit.group_attributes, of.options.zarr_format));
  save_options of_root = of.options;
  of_root.consolidated_metadata = of.options.consolidated_metadata && all_core;
  return put_root_document(store, {of.commit, of.groups, of_root, of.max_bytes, of.documents});
}

ZARRPOINT_INLINE bool is_core_array(const array_metadata& metadata) {
  return metadata.type.record() == nullptr && metadata.type.is_core();
}

ZARRPOINT_INLINE result<void> erase_root_document(const any_store& store) {
  for (const std::string_view name : {"zarr.json", ".zattrs", ".zgroup", ".zmetadata"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_CHECK(store.erase(key));
  }
  return {};
}

ZARRPOINT_INLINE result<void> erase_v2_attributes(const any_store& store, std::string_view node) {
  ZARRPOINT_TRY(key, store_key::parse(node));
  ZARRPOINT_TRY(attributes, key.child(".zattrs"));
  return store.erase(attributes).transform([](const auto&) {});
}

ZARRPOINT_INLINE result<void> check_attributes(const node& attributes) {
  if (attributes.is_null()) return {};
  ZARRPOINT_CHECK(check_writable_attributes(attributes).at("save_options"));
  if (attributes.find(commit_document::member_name) != nullptr)
    return error{errc::invalid_argument,
                 "save_options: attributes: the member \"zarrpoint\" is reserved"};
  return {};
}

ZARRPOINT_INLINE result<node::object> sorted_attributes_of(const save_options& options) {
  // The commit document has them six levels deep, and 48 is what `check_writable` allows of it.
  constexpr std::size_t levels = 40;
  node::object out = options.attributes_of;
  sort_members(out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string where = "save_options: attributes_of " + in_quotes(out[i].key);
    if (i != 0 && out[i].key == out[i - 1].key)
      return error{errc::invalid_argument, where + ": the name is given twice"};
    if (!out[i].value.is_null() && out[i].value.if_object() == nullptr)
      return error{errc::invalid_argument, where + ": attributes must be an object"};
    ZARRPOINT_CHECK(check_writable(out[i].value, levels).at(where));
    if (out[i].value == node(node::object{})) out[i].value = node();
  }
  return out;
}

ZARRPOINT_INLINE result<node::object> attributes_of_groups(
    const node::object& sorted, const std::set<std::string>& groups,
    std::span<const std::string_view> leaves) {
  node::object out;
  for (const node::member& one : sorted) {
    const auto refuse = [&](const char* why) {
      return error{errc::invalid_argument,
                   "save_options: attributes_of " + in_quotes(one.key) + ": " + why};
    };
    if (one.key.empty()) return refuse("those of the root are save_options::attributes");
    if (!groups.contains(one.key)) {
      if (!std::binary_search(leaves.begin(), leaves.end(), std::string_view(one.key)))
        return refuse("no leaf or group that is saved has this name");
      continue;
    }
    if (one.value.find(commit_document::member_name) != nullptr)
      return refuse("the member \"zarrpoint\" is reserved");
    if (!one.value.is_null()) out.push_back(one);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
