// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

/// What a leaf is as a value: an empty container is none.
ZARRPOINT_INLINE tree_value leaf_value(std::string type, std::string name) {
  tree_value out;
  if (type == "Dict") out.kind = value_kind::dict;
  if (type == "List") out.kind = value_kind::list;
  if (type == "Tuple") out.kind = value_kind::tuple;
  if (type == "NamedTuple") out.kind = value_kind::named_tuple;
  if (out.kind != value_kind::leaf) return out;
  out.type = std::move(type);
  out.name = std::move(name);
  return out;
}

ZARRPOINT_INLINE error too_deep(const std::string& name) {
  return {errc::resource_limit, "a tree of more than 64 levels, at " + v0::detail::in_quotes(name)};
}

/// Trees by the paths of their leaves.
class value_builder {
 public:
  using leaves = std::vector<const tree_leaf*>;

  static result<tree_value> build(const leaves& from, std::size_t depth) {
    if (from.size() == 1 && from[0]->path.size() == depth)
      return leaf_value(from[0]->value_type, from[0]->name);
    if (depth == most_levels) return too_deep(from[0]->name);
    tree_value out;
    out.kind = from.empty() ? value_kind::dict : value_kind::list;
    std::vector<std::pair<std::string, leaves>> groups;
    for (const tree_leaf* leaf : from) {
      if (leaf->path.size() == depth) return error{errc::corrupt, "a leaf above another"};
      if (!leaf->path[depth].is_index) out.kind = value_kind::dict;
      groups.emplace_back(leaf->path[depth].text, leaves{leaf});
    }
    const bool is_list = out.kind == value_kind::list;
    v0::detail::sort_by(groups, [&](const auto& a, const auto& b) {
      // Of numbers without zeros before them the longer is the larger.
      if (is_list && a.first.size() != b.first.size()) return a.first.size() < b.first.size();
      return a.first < b.first;
    });
    for (std::size_t i = 0; i < groups.size();) {
      leaves beneath;
      std::size_t end = i;
      for (; end < groups.size() && groups[end].first == groups[i].first; ++end)
        beneath.push_back(groups[end].second[0]);
      ZARRPOINT_TRY(member, build(beneath, depth + 1));
      out.members.emplace_back(groups[i].first, std::move(member));
      i = end;
    }
    return out;
  }
};

/// Trees by the text `value_metadata_tree`.
ZARRPOINT_INLINE result<tree_value> rich_value(const node& from, const std::string& name,
                                               std::size_t depth) {
  if (depth > most_levels) return too_deep(name);
  const auto beneath = [&](std::string_view key) {
    return depth == 0 ? std::string(key) : name + '/' + std::string(key);
  };
  tree_value out;
  const auto add = [&](std::string key, const node& value) -> result<void> {
    ZARRPOINT_TRY(member, rich_value(value, beneath(key), depth + 1));
    out.members.emplace_back(std::move(key), std::move(member));
    return {};
  };
  const auto add_all = [&](const node& entries) -> result<void> {
    std::size_t i = 0;
    for (const node& each : *entries.if_array()) ZARRPOINT_CHECK(add(std::to_string(i++), each));
    return {};
  };
  const error other{errc::corrupt, "value_metadata_tree has an entry of no known form"};
  if (from.if_array() != nullptr) {
    out.kind = value_kind::list;
    ZARRPOINT_CHECK(add_all(from));
    return out;
  }
  if (from.if_object() == nullptr) return other;
  const auto text = [&](const node& of, const char* member) {
    const node* const value = of.find(member);
    return value != nullptr && value->if_string() != nullptr ? *value->if_string() : std::string();
  };
  const std::string category = text(from, "category");
  const node* const entries = from.find("entries");
  if (category == "custom" && text(from, "clazz") == "ValueMetadataEntry") {
    const node* const data = from.find("data");
    if (data == nullptr) return other;
    return leaf_value(text(*data, "value_type"), name);
  }
  if (category == "custom" && text(from, "clazz") == "tuple") {
    if (entries == nullptr || entries->if_array() == nullptr) return other;
    out.kind = value_kind::tuple;
    ZARRPOINT_CHECK(add_all(*entries));
    return out;
  }
  if (category == "namedtuple") {
    if (entries == nullptr || entries->if_array() == nullptr) return other;
    out.kind = value_kind::named_tuple;
    out.type = text(from, "module") + '.' + text(from, "clazz");
    for (const node& entry : *entries->if_array()) {
      const node* const value = entry.find("value");
      if (value == nullptr) return other;
      ZARRPOINT_CHECK(add(text(entry, "key"), *value));
    }
    return out;
  }
  out.kind = value_kind::dict;
  for (const node::member& entry : *from.if_object()) ZARRPOINT_CHECK(add(entry.key, entry.value));
  return out;
}

/// Gives a leaf the name under which its tree shows it. `path` is its `path_text`, and `shown` has
/// those and the names.
ZARRPOINT_INLINE void show_names(tree_value& of, std::string path,
                                 const std::map<std::string, std::string>& shown) {
  if (of.kind == value_kind::leaf) {
    if (const auto at = shown.find(path); at != shown.end()) of.name = at->second;
    return;
  }
  for (auto& [key, member] : of.members) show_names(member, path + key + '\0', shown);
}

}  // namespace detail

ZARRPOINT_INLINE result<tree_value> to_value(const tree& from) {
  return guarded([&]() -> result<tree_value> {
    if (!from.rich_types.empty()) {
      // Of a named tuple a level is three: itself, its entries, and one of them.
      json_limits limits;
      limits.max_depth = 3 * (detail::most_levels + 1) + 2;
      ZARRPOINT_TRY(rich, parse_json(as_bytes(from.rich_types), limits).at("value_metadata_tree"));
      ZARRPOINT_TRY(value, detail::rich_value(rich, {}, 0));
      std::map<std::string, std::string> shown;
      for (const tree_leaf& leaf : from.leaves)
        if (leaf.name != leaf.original_name())
          shown.emplace(detail::path_text(leaf.path), leaf.name);
      if (!shown.empty()) detail::show_names(value, {}, shown);
      return value;
    }
    detail::value_builder::leaves leaves;
    for (const tree_leaf& leaf : from.leaves) leaves.push_back(&leaf);
    return detail::value_builder::build(leaves, 0);
  });
}

ZARRPOINT_INLINE result<node> read_scalar(const any_store& tree, std::string_view name) {
  ZARRPOINT_TRY(key, store_key::parse(name));
  ZARRPOINT_TRY(opened, array::open(tree, key));
  const dtype type = opened.spec().type;
  const bool is_text = type == dtype_kind::string;
  if (opened.spec().shape.rank() != 0 || !(is_text || type.is_number()) || type.is_complex())
    return error{errc::invalid_argument,
                 v0::detail::in_quotes(name) + " is not a number or text of Python"};
  ZARRPOINT_TRY(read, opened.read(box{}));
  const host_view from = read.view();
  if (is_text) return node(*reinterpret_cast<const std::string*>(from.data));
  const auto as = [&]<class T>(T value, dtype_kind kind) -> result<node> {
    ZARRPOINT_CHECK(v0::detail::cast_elements(
        dense_view(reinterpret_cast<std::byte*>(&value), {kind, {}}), from));
    return node(value);
  };
  if (type == dtype_kind::bool_) return as(false, dtype_kind::bool_);
  if (type.is_unsigned_integer()) return as(std::uint64_t{0}, dtype_kind::uint64);
  if (type.is_integer()) return as(std::int64_t{0}, dtype_kind::int64);
  return as(0.0, dtype_kind::float64);
}

}}}  // namespace zarrpoint::v0::orbax
