// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/orbax_save/orbax_described.hpp>
#include <zarrpoint/interop/orbax_save/orbax_rich_types.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// Of ASCII only: which other letters Python takes needs the tables of Unicode, and one name that
/// it refuses makes Orbax restore nothing of the tree.
ZARRPOINT_INLINE bool is_of_names(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

ZARRPOINT_INLINE bool is_field_name(const std::string& text) {
  static constexpr std::string_view keywords[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  const bool is_name = !text.empty() && text[0] != '_' && !(text[0] >= '0' && text[0] <= '9') &&
                       std::all_of(text.begin(), text.end(), is_of_names);
  return is_name && std::find(std::begin(keywords), std::end(keywords), text) == std::end(keywords);
}

/// A module and a class, of which Orbax makes one name.
ZARRPOINT_INLINE bool is_class_name(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  return dot != text.npos && dot != 0 && dot + 1 != text.size() &&
         !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c == '.' || is_of_names(c); });
}

ZARRPOINT_INLINE std::string name_of(const tree_container& of) {
  return (of.kind == value_kind::tuple ? "the tuple " : "the named tuple ") +
         v0::detail::in_quotes(of.path.keys().empty() ? "()" : of.path.joined('/'));
}

ZARRPOINT_INLINE result<void> check_container(const tree_container& of) {
  if (of.kind == value_kind::tuple) {
    if (of.type.empty() && of.fields.empty()) return {};
    return bad_tree(name_of(of) + " has a class or fields, as a named tuple has");
  }
  if (of.kind != value_kind::named_tuple)
    return bad_tree("save_tree_options::rich_types are tuples and named tuples, and " +
                    v0::detail::in_quotes(of.path.joined('/')) + " is neither");
  if (!is_class_name(of.type))
    return bad_tree(name_of(of) + " has the class " + v0::detail::in_quotes(of.type) +
                    ", not a module and a name, such as \"optax.EmptyState\"");
  std::set<std::string_view> known;
  for (const std::string& field : of.fields)
    if (!is_field_name(field) || !known.insert(field).second)
      return bad_tree(name_of(of) + " cannot have the field " + v0::detail::in_quotes(field) +
                      (is_field_name(field) ? " twice"
                                            : ": fields begin with a letter of ASCII, have such, "
                                              "digits and '_', and are not keywords of Python"));
  return {};
}

ZARRPOINT_INLINE node value_entry(const planned_item& item, const tree_plan& plan) {
  node::object out{{"value_type", item.told.value_type},
                   {"skip_deserialize", item.told.is_skipped}};
  if (item.told.value_type == "jax.Array") {
    node::array shape;
    for (const index_t length : plan.arrays[*item.array].metadata().chunk_shape)
      shape.emplace_back(length);
    out.push_back({"write_shape", std::move(shape)});
  }
  return out;
}

/// A tree of leaves and the containers that are told of it, node by node.
class rich_tree {
 public:
  explicit rich_tree(const tree_plan& plan) : plan_(plan) {}

  result<void> check(const std::vector<tree_container>& all) {
    for (const tree_container& of : all) {
      ZARRPOINT_CHECK(check_container(of));
      if (!containers_.emplace(of.path.keys(), &of).second)
        return bad_tree("save_tree_options::rich_types tells of " + name_of(of) + " twice");
    }
    ZARRPOINT_CHECK(check(plan_.items, 0));
    for (const tree_container& of : all)
      if (!seen_.contains(&of))
        return bad_tree(name_of(of) + " has no leaf beneath it; what is empty is an empty_value");
    return {};
  }

  node write(const std::vector<tree_container>& all) {
    for (const tree_container& of : all) containers_.emplace(of.path.keys(), &of);
    return write(plan_.items, 0);
  }

 private:
  /// The leaves beneath a place, which lie beside each other.
  using leaves_beneath = std::span<const planned_item>;

  /// Those of them that lie beneath the first member of the place.
  static leaves_beneath first_member(leaves_beneath from, std::size_t depth) {
    const tree_key& key = from[0].told.path[depth];
    std::size_t count = 1;
    while (count < from.size() && from[count].told.path[depth] == key) ++count;
    return from.first(count);
  }

  const tree_container* container_at(const planned_item& leaf, std::size_t depth) const {
    const auto begin = leaf.told.path.begin();
    const auto at =
        containers_.find(std::vector<tree_key>(begin, begin + static_cast<std::ptrdiff_t>(depth)));
    return at != containers_.end() ? at->second : nullptr;
  }

  result<void> check(leaves_beneath from, std::size_t depth) {
    if (from[0].told.path.size() == depth) return {};
    if (depth == most_levels)
      return bad_tree("the leaf " + v0::detail::in_quotes(from[0].told.name) +
                      " lies beneath more than 64 levels, too many for rich types");
    const tree_container* const of = container_at(from[0], depth);
    std::set<std::string_view> left;
    if (of != nullptr) {
      seen_.insert(of);
      left.insert(of->fields.begin(), of->fields.end());
    }
    while (!from.empty()) {
      const tree_key& key = from[0].told.path[depth];
      const std::string quoted = v0::detail::in_quotes(key.text);
      if (of != nullptr && of->kind == value_kind::tuple && !key.is_index)
        return bad_tree(name_of(*of) + " has the key " + quoted + " beneath it, not indices");
      if (of != nullptr && of->kind == value_kind::named_tuple &&
          (key.is_index || left.erase(key.text) == 0))
        return bad_tree(name_of(*of) + " has no field " + quoted + ", and the tree has it there");
      const leaves_beneath member = first_member(from, depth);
      ZARRPOINT_CHECK(check(member, depth + 1));
      from = from.subspan(member.size());
    }
    if (left.empty()) return {};
    return bad_tree(name_of(*of) + " has the field " + v0::detail::in_quotes(*left.begin()) +
                    ", and the tree has no leaf there");
  }

  node write(leaves_beneath from, std::size_t depth) const {
    const planned_item& first = from[0];
    if (first.told.path.size() == depth)
      return node::object{{"category", "custom"},
                          {"clazz", "ValueMetadataEntry"},
                          {"data", value_entry(first, plan_)}};
    const bool is_list = first.told.path[depth].is_index;
    node::object members;
    while (!from.empty()) {
      const leaves_beneath member = first_member(from, depth);
      members.push_back({from[0].told.path[depth].text, write(member, depth + 1)});
      from = from.subspan(member.size());
    }
    const tree_container* const of = container_at(first, depth);
    if (of != nullptr && of->kind == value_kind::named_tuple) return named(*of, members);
    if (!is_list) return members;
    node::array entries;
    for (node::member& member : members) entries.push_back(std::move(member.value));
    if (of == nullptr) return entries;
    return node::object{
        {"category", "custom"}, {"clazz", "tuple"}, {"entries", std::move(entries)}};
  }

  static node named(const tree_container& of, node::object& members) {
    const std::size_t dot = of.type.rfind('.');
    node::array entries;
    for (const std::string& field : of.fields) {
      // In order, as the leaves are.
      const auto at = std::lower_bound(
          members.begin(), members.end(), field,
          [](const node::member& one, const std::string& key) { return one.key < key; });
      entries.emplace_back(node::object{{"key", field}, {"value", std::move(at->value)}});
    }
    return node::object{{"category", "namedtuple"},
                        {"module", of.type.substr(0, dot)},
                        {"clazz", of.type.substr(dot + 1)},
                        {"entries", std::move(entries)}};
  }

  const tree_plan& plan_;
  std::map<std::vector<tree_key>, const tree_container*, path_is_before> containers_;
  std::set<const tree_container*> seen_;
};

ZARRPOINT_INLINE result<void> check_containers(const tree_plan& plan,
                                               const std::vector<tree_container>& all) {
  return rich_tree(plan).check(all);
}

ZARRPOINT_INLINE std::string rich_text(const tree_plan& plan,
                                       const std::vector<tree_container>& all) {
  return dump_json(rich_tree(plan).write(all), json_style::compact);
}

}}}}  // namespace zarrpoint::v0::orbax::detail
