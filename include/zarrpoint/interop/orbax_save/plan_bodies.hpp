// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/plan_layout.hpp>
#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/orbax_save/orbax_extra_items.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_shared_tree.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// ---------------------------------------------------------------------------------- orbax_item.hpp

ZARRPOINT_INLINE bool comes_before(const tree_key& a, const tree_key& b) {
  if (a.is_index != b.is_index) return a.is_index;
  if (a.is_index && a.text.size() != b.text.size()) return a.text.size() < b.text.size();
  return a.text < b.text;
}

ZARRPOINT_INLINE bool path_is_before::operator()(const std::vector<tree_key>& a,
                                                 const std::vector<tree_key>& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), comes_before);
}

ZARRPOINT_INLINE error bad_tree(std::string what) {
  return {errc::invalid_argument, std::move(what)};
}

/// What a value is, and what it is to be.
ZARRPOINT_INLINE result<void> describe_value(const leaf& value, const tree_item& as,
                                             described_leaf& to) {
  to.random_key = as.random_key;
  const bool is_key = !as.random_key.empty() && as.value_type.empty();
  const std::string type = is_key ? "jax.Array" : as.value_type;
  ZARRPOINT_TRY(spec, value.spec());
  if (spec.type.kind() == dtype_kind::string && spec.shape.rank() == 0) {
    if ((!type.empty() && type != "string") || !as.random_key.empty())
      return bad_tree("it is a text and has the value type " + v0::detail::in_quotes(type));
    ZARRPOINT_TRY(view, value.view());
    to.text = *reinterpret_cast<const std::string*>(view.data);
    return {};
  }
  to.value_type = type;
  to.is_number = value.typestr() == "scalar";
  to.at = box::whole(spec.shape);
  to.spec = std::move(spec);
  return {};
}

ZARRPOINT_INLINE result<described_tree> describe_items(std::span<const tree_item> items) {
  described_tree out;
  const auto add_empty = [&](std::vector<tree_key> path, const char* type) {
    described_leaf& made = out.leaves.emplace_back();
    made.path = std::move(path);
    made.value_type = type;
    made.is_empty = true;
    out.values.emplace_back();
  };
  const auto add_value = [&](std::vector<tree_key> path, const leaf& value,
                             const tree_item& as) -> result<void> {
    described_leaf& made = out.leaves.emplace_back();
    made.path = std::move(path);
    out.values.emplace_back(value);
    return describe_value(value, as, made).at("the leaf " + v0::detail::in_quotes(made.name()));
  };
  for (const tree_item& item : items) {
    const std::vector<tree_key>& path = item.path.keys();
    if (!item.value) {
      static constexpr const char* types[] = {"None", "Dict", "List", "Tuple", "NamedTuple"};
      if (!item.value_type.empty())
        return bad_tree("the leaf " + v0::detail::in_quotes(item.path.joined('/')) +
                        " is empty and has a value type");
      add_empty(path, types[static_cast<std::size_t>(item.empty)]);
      continue;
    }
    if (!item.value->is_group()) {
      ZARRPOINT_CHECK(add_value(path, *item.value, item));
      continue;
    }
    // Members are dicts.
    v0::detail::single_leaves members = leaf::single({*item.value});
    const auto path_of = [&](const std::string& name) {
      std::string_view rest = name;
      rest.remove_prefix(std::min(item.value->name().size(), rest.size()));
      if (rest.starts_with('/')) rest.remove_prefix(1);
      std::vector<tree_key> longer = path;
      const tree_path beneath(rest);
      longer.insert(longer.end(), beneath.keys().begin(), beneath.keys().end());
      return longer;
    };
    for (const leaf& member : members.leaves)
      ZARRPOINT_CHECK(add_value(path_of(member.name()), member, item));
    for (const std::string& group : members.empty_groups) add_empty(path_of(group), "Dict");
  }
  return out;
}

}}}}  // namespace zarrpoint::v0::orbax::detail

namespace zarrpoint { inline namespace v0 { namespace orbax {

namespace detail {

/// Finds containers with the keys of their paths, of which `to_value` has the texts only. A class
/// that JAX knows without keys has indices beneath it, and is a dict there.
class container_finder {
 public:
  explicit container_finder(const tree& from) : from_(from) {}

  result<std::vector<tree_container>> find(const tree_value& all) && {
    ZARRPOINT_CHECK(add(all).transform([](const tree_leaf*) {}));
    return std::move(found_);
  }

 private:
  /// Adds those of a value, at `path_`. The first leaf of it, or null.
  result<const tree_leaf*> add(const tree_value& value) {
    if (value.members.empty()) return leaf_here();
    const bool is_named = value.kind == value_kind::named_tuple;
    const bool is_container = is_named || value.kind == value_kind::tuple;
    const std::size_t depth = path_.size();
    const std::size_t number = found_.size();
    if (is_container) found_.emplace_back();
    const tree_leaf* first = nullptr;
    for (const auto& [name, member] : value.members) {
      path_.push_back({name, false});
      ZARRPOINT_TRY(leaf, add(member));
      if (is_container && (leaf == nullptr || leaf->path[depth].is_index == is_named))
        return error{errc::corrupt, "value_metadata_tree has " +
                                        v0::detail::in_quotes(tree_path(path_).joined('/')) +
                                        (is_named ? " in a named tuple" : " in a tuple") +
                                        ", and tree_metadata has no such leaf"};
      path_.pop_back();
      if (first == nullptr) first = leaf;
    }
    if (!is_container) return first;
    tree_container& made = found_[number];
    made.path =
        std::vector(first->path.begin(), first->path.begin() + static_cast<std::ptrdiff_t>(depth));
    made.kind = value.kind;
    if (is_named) made.type = value.type;
    for (const auto& [name, member] : value.members)
      if (is_named) made.fields.push_back(name);
    return first;
  }

  const tree_leaf* leaf_here() const {
    const std::string name = tree_path(path_).joined('/');
    const auto at = std::lower_bound(
        from_.leaves.begin(), from_.leaves.end(), name,
        [](const tree_leaf& leaf, const std::string& text) { return leaf.name < text; });
    // Keys with a '/' may make one name of other keys.
    const bool is_here =
        at != from_.leaves.end() &&
        std::equal(at->path.begin(), at->path.end(), path_.begin(), path_.end(),
                   [](const tree_key& a, const tree_key& b) { return a.text == b.text; });
    return is_here ? &*at : nullptr;
  }

  const tree& from_;
  std::vector<tree_key> path_;
  std::vector<tree_container> found_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<tree_container>> containers_of(const tree& from) {
  return guarded([&]() -> result<std::vector<tree_container>> {
    ZARRPOINT_TRY(value, to_value(from));
    return detail::container_finder(from).find(value);
  });
}

}}}  // namespace zarrpoint::v0::orbax

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// ---------------------------------------------------------------------------------- orbax_plan.hpp

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
    return bad_tree("orbax::format::rich_types are tuples and named tuples, and " +
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

ZARRPOINT_INLINE json value_entry(const planned_item& item, const tree_plan& plan) {
  json::object out{{"value_type", item.told.value_type},
                   {"skip_deserialize", item.told.is_skipped}};
  if (item.told.value_type == "jax.Array") {
    json::array shape;
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
        return bad_tree("orbax::format::rich_types tells of " + name_of(of) + " twice");
    }
    ZARRPOINT_CHECK(check(plan_.items, 0));
    for (const tree_container& of : all)
      if (!seen_.contains(&of))
        return bad_tree(name_of(of) + " has no leaf beneath it; what is empty is an empty_value");
    return {};
  }

  json write(const std::vector<tree_container>& all) {
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

  json write(leaves_beneath from, std::size_t depth) const {
    const planned_item& first = from[0];
    if (first.told.path.size() == depth)
      return json::object{{"category", "custom"},
                          {"clazz", "ValueMetadataEntry"},
                          {"data", value_entry(first, plan_)}};
    const bool is_list = first.told.path[depth].is_index;
    json::object members;
    while (!from.empty()) {
      const leaves_beneath member = first_member(from, depth);
      members.push_back({from[0].told.path[depth].text, write(member, depth + 1)});
      from = from.subspan(member.size());
    }
    const tree_container* const of = container_at(first, depth);
    if (of != nullptr && of->kind == value_kind::named_tuple) return named(*of, members);
    if (!is_list) return members;
    json::array entries;
    for (json::member& member : members) entries.push_back(std::move(member.value));
    if (of == nullptr) return entries;
    return json::object{
        {"category", "custom"}, {"clazz", "tuple"}, {"entries", std::move(entries)}};
  }

  static json named(const tree_container& of, json::object& members) {
    const std::size_t dot = of.type.rfind('.');
    json::array entries;
    for (const std::string& field : of.fields) {
      // In order, as the leaves are.
      const auto at = std::lower_bound(
          members.begin(), members.end(), field,
          [](const json::member& one, const std::string& key) { return one.key < key; });
      entries.emplace_back(json::object{{"key", field}, {"value", std::move(at->value)}});
    }
    return json::object{{"category", "namedtuple"},
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

// ---------------------------------------------------------------------------------- orbax_plan.hpp

ZARRPOINT_INLINE result<dims> chunk_of_v2(std::string_view name, const tensor_spec& spec,
                                          const dims* local, const std::vector<leaf_rule>& rules) {
  const dims* const shape = v0::detail::last_set(rules, name, &leaf_rule::chunk_shape);
  if (shape != nullptr) {
    const bool is_valid =
        shape->rank() == spec.shape.rank() &&
        std::all_of(shape->begin(), shape->end(), [](index_t n) { return n > 0; });
    if (!is_valid)
      return bad_tree("chunk_shape " + to_string(*shape) + " does not fit the shape " +
                      to_string(spec.shape));
    return *shape;
  }
  const std::uint64_t* const bytes = v0::detail::last_set(rules, name, &leaf_rule::chunk_byte_size);
  if (bytes != nullptr)
    return v0::detail::greedy_chunk_shape(spec, local != nullptr ? *local : spec.shape, *bytes);
  return local != nullptr ? *local : v0::detail::whole_chunk_shape(spec);
}

ZARRPOINT_INLINE std::optional<dims> largest_chunk(const std::optional<dims>& of_device,
                                                   const dims& unit, const dims& shape) {
  if (unit.empty()) return of_device;
  dims out = shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const index_t device = of_device && (*of_device)[d] != shape[d] ? (*of_device)[d] : 0;
    if (const index_t both = std::gcd(device, unit[d]); both != 0) out[d] = both;
  }
  return out;
}

ZARRPOINT_INLINE dims part_of_v2(const tensor_spec& spec, const dims& unit) {
  dims out = v0::detail::contiguous_chunk_shape(spec, std::uint64_t{64} << 20);
  for (std::size_t d = 0; d < out.rank(); ++d) {
    if (unit[d] == 0) continue;
    const index_t all = std::max<index_t>(spec.shape[d], 1);
    const index_t most = out[d];
    out[d] = v0::detail::largest_divisor(all, most);
    // Of a prime number of rows there is no part but a row: one large object is better.
    if (out[d] < most / 8) out[d] = all;
  }
  return out;
}

ZARRPOINT_INLINE result<void> check_units(const dims& chunk, const dims& unit) {
  for (std::size_t d = 0; d < unit.rank(); ++d) {
    if (unit[d] == 0 || unit[d] % chunk[d] == 0) continue;
    return bad_tree("a chunk of its shape " + to_string(chunk) +
                    " would have elements of two boxes that are written by themselves: along "
                    "axis " +
                    std::to_string(d) + " they begin at multiples of " + std::to_string(unit[d]) +
                    ", which a rule's shape must divide");
  }
  return {};
}

ZARRPOINT_INLINE bool are_many_small(const array_metadata& of, index_t largest) {
  constexpr index_t small_bytes = 64 << 10;
  constexpr index_t many = 16;
  const index_t elements = element_count(of.chunk_shape).value_or(INT64_MAX);
  const auto size = static_cast<index_t>(std::max<std::size_t>(of.type.size(), 1));
  return elements > 0 && elements < small_bytes / size && largest / elements >= many;
}

ZARRPOINT_INLINE bool is_own_name(std::string_view name) {
  for (const std::string_view own :
       {"_METADATA", "_CHECKPOINT_METADATA", "_sharding", "_strings.json", "array_metadatas",
        "manifest.ocdbt", "d", "checkpoint", "commit_success.txt", "orbax.checkpoint"})
    if (name == own) return true;
  return name.starts_with("ocdbt.process_") || name.find(unfinished_mark) != name.npos;
}

ZARRPOINT_INLINE result<void> check_item_name(const std::string& item) {
  if (v0::detail::key_segment_fault(item) == nullptr && item.find('/') == item.npos &&
      !is_own_name(item))
    return {};
  return bad_tree("the item " + v0::detail::in_quotes(item) + " has no valid name");
}

ZARRPOINT_INLINE bool is_index(std::string_view text) {
  return !text.empty() && text.size() < 10 && (text == "0" || text[0] != '0') &&
         text.find_first_not_of("0123456789") == text.npos;
}

/// What a path may not be by itself.
ZARRPOINT_INLINE result<void> check_path(const tree_leaf& leaf) {
  const std::string name = v0::detail::in_quotes(leaf.name);
  for (const tree_key& key : leaf.path) {
    if (key.text.empty()) return bad_tree("the leaf " + name + " has an empty key in its path");
    if (key.is_index && !is_index(key.text))
      return bad_tree("the leaf " + name + ": " + v0::detail::in_quotes(key.text) +
                      " is not an index of a list");
  }
  for (const std::string* text : {&leaf.name, &leaf.storage})
    ZARRPOINT_CHECK(store_key::parse(*text).transform([](const auto&) {}).at("the leaf " + name));
  return {};
}

/// What the paths of a tree may not be beside each other: `next` follows `last`.
ZARRPOINT_INLINE result<void> check_neighbours(const tree_leaf* last, const tree_leaf& next) {
  const std::string name = v0::detail::in_quotes(next.name);
  std::size_t common = 0;
  if (last != nullptr) {
    const auto differ =
        std::mismatch(last->path.begin(), last->path.end(), next.path.begin(), next.path.end());
    common = static_cast<std::size_t>(differ.second - next.path.begin());
    if (common == next.path.size()) return bad_tree("two leaves have the path " + name);
    if (common == last->path.size())
      return bad_tree(v0::detail::in_quotes(last->name) +
                      " cannot be a leaf: other leaves lie beneath it");
  }
  for (std::size_t i = common; i < next.path.size(); ++i) {
    const tree_key& key = next.path[i];
    const tree_key* const before = i == common && last != nullptr ? &last->path[i] : nullptr;
    if (before != nullptr && before->is_index != key.is_index)
      return bad_tree("the leaf " + name + ": beside " + v0::detail::in_quotes(key.text) +
                      " there are indices of a list, and it is a key of a dict");
    if (!key.is_index) continue;
    const int wanted = before != nullptr ? std::stoi(before->text) + 1 : 0;
    if (key.text != std::to_string(wanted))
      return bad_tree("the leaf " + name + ": its list has no element " + std::to_string(wanted));
  }
  return {};
}

/// What names may not be beside each other where they are stored, and for our own reader.
ZARRPOINT_INLINE result<void> check_names(const tree_plan& plan, bool is_ocdbt) {
  if (plan.items.size() == 1 && plan.items[0].told.path.empty()) return {};
  std::vector<std::string_view> names, stored, texts;
  for (const planned_item& item : plan.items) {
    names.emplace_back(item.told.name);
    const std::string& storage = item.told.storage;
    if (item.told.is_skipped) continue;
    stored.emplace_back(storage);
    if (item.told.value_type == "string") texts.emplace_back(storage);
    if (item.told.value_type == "string" && storage.find('~') != storage.npos)
      return bad_tree("the leaf " + v0::detail::in_quotes(item.told.name) +
                      " is a text, for whose path Orbax cannot store a '~'");
    if (!is_ocdbt && is_own_name(std::string_view(storage).substr(0, storage.find('/'))))
      return bad_tree("the leaf " + v0::detail::in_quotes(item.told.name) +
                      " would lie where Orbax has a file of its own; save it with ocdbt");
  }
  const char* const where = "where Orbax stores leaves (keys joined by '.')";
  if (!is_ocdbt) {
    ZARRPOINT_CHECK(groups_of(names).transform([](const auto&) {}));
    return groups_of(stored).transform([](const auto&) {}).at(where);
  }
  // In a database a key may begin another, but not in the JSON of texts.
  for (std::vector<std::string_view>* const all : {&names, &stored}) {
    v0::detail::sort_names(*all);
    const auto twice = std::adjacent_find(all->begin(), all->end());
    if (twice != all->end())
      return bad_tree("two leaves would be " + v0::detail::in_quotes(*twice)).at(where);
  }
  return groups_of(texts).transform([](const auto&) {}).at(where);
}

/// The types that TensorStore has, in memory and on disk as Zarr has them.
ZARRPOINT_INLINE bool is_known_to_tensorstore(const dtype& type) {
  switch (type.kind()) {
    case dtype_kind::bool_:
    case dtype_kind::int8:
    case dtype_kind::int16:
    case dtype_kind::int32:
    case dtype_kind::int64:
    case dtype_kind::uint8:
    case dtype_kind::uint16:
    case dtype_kind::uint32:
    case dtype_kind::uint64:
    case dtype_kind::int2:
    case dtype_kind::int4:
    case dtype_kind::float4_e2m1fn:
    case dtype_kind::float8_e3m4:
    case dtype_kind::float8_e4m3fn:
    case dtype_kind::float8_e4m3b11fnuz:
    case dtype_kind::float8_e4m3fnuz:
    case dtype_kind::float8_e5m2:
    case dtype_kind::float8_e5m2fnuz:
    case dtype_kind::float8_e8m0fnu:
    case dtype_kind::float16:
    case dtype_kind::bfloat16:
    case dtype_kind::float32:
    case dtype_kind::float64:
    case dtype_kind::complex64:
    case dtype_kind::complex128: return true;
    default: return false;
  }
}

ZARRPOINT_INLINE bool is_python_number(const dtype& type) {
  const bool is_real = type.kind() == dtype_kind::float16 || type.kind() == dtype_kind::float32 ||
                       type.kind() == dtype_kind::float64;
  return is_real || (!type.is_floating() && !type.is_complex() && !type.is_below_byte());
}

/// The value type of an array.
ZARRPOINT_INLINE result<std::string> array_type(const described_leaf& of, const tensor_spec& spec,
                                                bool has_sharding, array_kind kind) {
  const std::string& wanted = of.value_type;
  if (wanted.empty()) {
    if (has_sharding) return std::string("jax.Array");
    if (of.is_number && is_python_number(spec.type)) return std::string("scalar");
    return std::string(kind == array_kind::jax ? "jax.Array" : "np.ndarray");
  }
  if (wanted != "jax.Array" && wanted != "np.ndarray" && wanted != "scalar")
    return bad_tree("its value type " + v0::detail::in_quotes(wanted) + " is not one of an array");
  if (wanted == "scalar" && spec.shape.rank() != 0)
    return bad_tree("it has the value type \"scalar\" and the shape " + to_string(spec.shape));
  if (wanted == "scalar" && !is_python_number(spec.type))
    return bad_tree("it has the value type \"scalar\", of which Orbax has none of " +
                    std::string(to_string(spec.type)));
  if (has_sharding && wanted != "jax.Array")
    return bad_tree("it has a sharding and the value type " + v0::detail::in_quotes(wanted));
  return wanted;
}

ZARRPOINT_INLINE result<void> check_metadata(const format& as) {
  for (const json* const own : {&as.custom_metadata, &as.step_metadata})
    if (!own->is_null() && own->if_object() == nullptr)
      return bad_tree("custom_metadata and step_metadata must be objects");
  if (!as.item.empty()) ZARRPOINT_CHECK(check_item_name(as.item));
  return extra_files(as).transform([](const auto&) {});
}

class tree_planner {
 public:
  explicit tree_planner(const tree_options& options) : options_(options) {}

  result<tree_plan> run(const leaves_to_plan& of) {
    ZARRPOINT_CHECK(check_options());
    for (std::size_t i = 0; i < of.leaves.size(); ++i)
      ZARRPOINT_CHECK(add(of.leaves[i], i, of.cuts.empty() ? leaf_cuts{} : of.cuts[i]));
    if (plan_.items.empty()) return bad_tree("a tree without leaves");
    v0::detail::sort_by(plan_.items, [](const planned_item& a, const planned_item& b) {
      return path_is_before()(a.told.path, b.told.path);
    });
    ZARRPOINT_CHECK(check_rules());
    const tree_leaf* last = nullptr;
    for (const planned_item& item : plan_.items) {
      ZARRPOINT_CHECK(check_neighbours(last, item.told));
      last = &item.told;
    }
    ZARRPOINT_CHECK(check_names(plan_, options_.as.ocdbt));
    if (options_.as.rich_types) ZARRPOINT_CHECK(check_containers(plan_, *options_.as.rich_types));
    for (const auto& [name, how] : options_.as.shardings)
      if (!used_.contains(name))
        return bad_tree("a sharding is given for " + v0::detail::in_quotes(name) +
                        ", which is not an array of the tree");
    write_shardings();
    return std::move(plan_);
  }

 private:
  void write_shardings() {
    json::object out;
    for (const planned_item& item : plan_.items) {
      if (item.told.value_type != "jax.Array") continue;
      const auto at = shardings_.find(item.told.name);
      const json told = at != shardings_.end() ? sharding_json(*at->second) : json();
      std::string name = v0::detail::to_base64(as_bytes(item.told.storage));
      std::replace(name.begin(), name.end(), '+', '-');
      std::replace(name.begin(), name.end(), '/', '_');
      // Where there is a file, Orbax looks for each of these arrays in it.
      out.push_back({std::move(name), told.is_null() ? std::string() : dump_json(told)});
    }
    const auto is_told = [](const json::member& one) { return one.value != json(std::string()); };
    if (std::any_of(out.begin(), out.end(), is_told))
      plan_.shardings = dump_json(json(std::move(out)));
  }

  result<void> check_options() {
    if (options_.how.zarr_format != 2 && options_.how.zarr_format != 3)
      return bad_tree("zarr_format " + std::to_string(options_.how.zarr_format) +
                      " is neither 2 nor 3");
    ZARRPOINT_CHECK(check_metadata(options_.as));
    for (const auto& [name, how] : options_.as.shardings)
      if (!shardings_.emplace(name, &how).second)
        return bad_tree("two shardings are given for " + v0::detail::in_quotes(name));
    return {};
  }

  result<void> check_rules() {
    std::vector<std::string_view> names;
    names.reserve(plan_.items.size());
    for (const planned_item& one : plan_.items) names.emplace_back(one.told.name);
    return v0::detail::check_rules(options_.how, names, plan_.warnings);
  }

  result<void> add(const described_leaf& of, std::size_t source, const leaf_cuts& cuts) {
    const tree_path where(of.path);
    planned_item item;
    item.told.path = of.path;
    item.told.name = where.joined('/');
    item.told.storage = where.joined('.');
    item.told.is_skipped = of.is_empty;
    item.source = source;
    ZARRPOINT_CHECK(check_path(item.told));
    if (of.is_empty && of.value_type == "NamedTuple" && !options_.as.rich_types)
      return bad_tree("the leaf " + v0::detail::in_quotes(item.told.name) +
                      " is an empty named tuple, which Orbax keeps with rich types only");
    if (of.is_empty) {
      item.told.value_type = of.value_type;
    } else if (of.text) {
      item.told.value_type = "string";
      item.text = *of.text;
    } else {
      ZARRPOINT_CHECK(
          add_array(item, of, cuts).at("the leaf " + v0::detail::in_quotes(item.told.name)));
    }
    plan_.items.push_back(std::move(item));
    return {};
  }

  result<void> add_array(planned_item& item, const described_leaf& of, const leaf_cuts& cuts) {
    const dims& unit = cuts.unit;
    tensor_spec spec = of.spec;
    item.random_key = of.random_key;
    if (const dtype* cast =
            v0::detail::last_set(options_.how.rules, item.told.name, &leaf_rule::cast)) {
      ZARRPOINT_CHECK(v0::detail::check_cast(spec.type, *cast));
      spec.type = *cast;
    }
    if (!is_known_to_tensorstore(spec.type))
      return error{errc::unsupported, "TensorStore, which Orbax reads with, has no arrays of " +
                                          std::string(to_string(spec.type))};
    ZARRPOINT_TRY(of_device, find_sharding(item.told.name, spec.shape));
    ZARRPOINT_TRY(type,
                  array_type(of, spec, shardings_.contains(item.told.name), options_.as.arrays));
    item.told.value_type = std::move(type);
    if (!item.random_key.empty() &&
        (spec.type != dtype_kind::uint32 || item.told.value_type != "jax.Array"))
      return bad_tree("the data of a key of jax.random are a jax.Array of uint32");
    std::optional<dims> local = largest_chunk(of_device, unit, spec.shape);
    if (options_.how.zarr_format == 2 && !unit.empty() && !of_device)
      local = part_of_v2({spec.type, *local}, unit);
    ZARRPOINT_TRY(metadata, plan_array(item.told.name, spec, local ? &*local : nullptr));
    ZARRPOINT_CHECK(check_units(metadata.chunk_shape, unit));
    if (!unit.empty() && are_many_small(metadata, cuts.largest))
      plan_.warnings.push_back(
          v0::detail::in_quotes(item.told.name) +
          ": the boxes of the processes, its sharding and its rules allow no larger chunks than " +
          to_string(metadata.chunk_shape) + ", so it is stored in many small objects");
    ZARRPOINT_TRY(bytes, byte_count(spec));
    ZARRPOINT_TRY(key, store_key::parse(item.told.storage));
    item.array = plan_.arrays.size();
    plan_.arrays.push_back({nullptr, nullptr,
                            v0::detail::make_counted<v0::detail::planned_form>(std::move(metadata)),
                            bytes, std::move(key)});
    plan_.bytes += bytes;
    return {};
  }

  /// How Zarr keeps an array of `spec`. `local`, if not null, is what one device had of it.
  result<array_metadata> plan_array(std::string_view name, const tensor_spec& spec,
                                    const dims* local) {
    if (const leaf_layout* const given = v0::detail::layout_of(options_.how.layouts, name))
      return v0::detail::copied_layout(*given, spec, options_.how.zarr_format);
    v0::save_options as{.zarr_format = options_.how.zarr_format};
    as.rules.push_back({.codecs = zstd_codecs()});
    if (local != nullptr && options_.how.zarr_format == 3)
      as.rules.push_back({.shard_shape = *local});
    as.rules.insert(as.rules.end(), options_.how.rules.begin(), options_.how.rules.end());
    if (options_.how.zarr_format == 3) {
      // As in Orbax it is the size of what is stored and of what is read.
      const v0::save_options given{.rules = options_.how.rules};  // `own` leads into it
      const v0::detail::layout_rules own = v0::detail::layout_rules_of(name, given);
      if (own.chunk_byte_size != nullptr && own.chunk_shape == nullptr &&
          own.shard_shape == nullptr) {
        ZARRPOINT_TRY(chunk,
                      v0::detail::greedy_chunk_shape(spec, local != nullptr ? *local : spec.shape,
                                                     *own.chunk_byte_size));
        as.rules.push_back({.chunk_shape = chunk, .shard_shape = chunk});
        for (leaf_rule& rule : as.rules) rule.chunk_byte_size.reset();
      }
    }
    if (options_.how.zarr_format == 2) {
      for (leaf_rule& rule : as.rules) {
        rule.chunk_shape.reset();
        rule.chunk_byte_size.reset();
      }
    }
    ZARRPOINT_TRY(layout, v0::detail::plan_layout(name, spec, as));
    if (options_.how.zarr_format == 2) {
      ZARRPOINT_TRY(chunk, chunk_of_v2(name, spec, local, options_.how.rules));
      ZARRPOINT_CHECK(byte_count(chunk, spec.type.size()).transform([](std::size_t) {}));
      layout.metadata.chunk_shape = chunk;
      // TensorStore knows no other for some types.
      layout.metadata.fill = fill_value::undefined(spec.type);
    }
    for (std::string& warning : layout.warnings)
      plan_.warnings.push_back(v0::detail::in_quotes(name) + ": " + std::move(warning));
    return std::move(layout.metadata);
  }

  /// Finds the sharding that was given, and what one device has by it.
  result<std::optional<dims>> find_sharding(const std::string& name, const dims& shape) {
    const auto at = shardings_.find(name);
    if (at == shardings_.end()) return std::optional<dims>();
    const sharding& how = *at->second;
    used_.insert(at->first);
    if (how.type == "SingleDeviceSharding") return std::optional<dims>();
    if (how.type != "NamedSharding") {
      plan_.warnings.push_back(v0::detail::in_quotes(name) + ": its sharding, " +
                               v0::detail::in_quotes(how.type) + ", is not stored");
      return std::optional<dims>();
    }
    ZARRPOINT_TRY(boxes, device_boxes(how.mesh, how.partition, shape));
    std::uint64_t cells = 1;  // no more than `device_boxes` has found
    for (const index_t extent : how.mesh.shape) cells *= static_cast<std::uint64_t>(extent);
    if (!how.mesh.devices.empty() && how.mesh.devices.size() != cells)
      return bad_tree("the sharding of " + v0::detail::in_quotes(name) + " has a mesh of " +
                      std::to_string(cells) + " devices and names " +
                      std::to_string(how.mesh.devices.size()));
    if (boxes.empty() || std::count(shape.begin(), shape.end(), 0) != 0)
      return std::optional<dims>();
    return std::optional(boxes.front().shape);
  }

  const tree_options& options_;
  tree_plan plan_;
  std::map<std::string_view, const sharding*> shardings_;
  std::set<std::string_view> used_;
};

ZARRPOINT_INLINE result<tree_plan> plan_tree(const leaves_to_plan& of,
                                             const tree_options& options) {
  return tree_planner(options).run(of);
}

// ------------------------------------------------------------------------------- orbax_records.hpp

ZARRPOINT_INLINE std::string_view handler_name(tree_handler which) {
  if (which == tree_handler::v1)
    return "orbax.checkpoint.experimental.v1._src.handlers.pytree_handler.PyTreeHandler";
  return which == tree_handler::standard
             ? "orbax.checkpoint._src.handlers.standard_checkpoint_handler."
               "StandardCheckpointHandler"
             : "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler";
}

ZARRPOINT_INLINE std::string python_tuple(const std::vector<tree_key>& path) {
  std::string out = "(";
  for (const tree_key& key : path) {
    if (&key != path.data()) out += ' ';
    const bool has_single = key.text.find('\'') != key.text.npos;
    const bool has_double = key.text.find('"') != key.text.npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    out += quote;
    for (const char c : key.text) {
      if (c == quote || c == '\\') out += '\\';
      out += c;
    }
    out += quote;
    if (&key != &path.back() || path.size() == 1) out += ',';
  }
  return out + ')';
}

ZARRPOINT_INLINE json array_of(const dims& shape) {
  json::array out;
  for (const index_t length : shape) out.emplace_back(length);
  return out;
}

ZARRPOINT_INLINE std::string tree_record(const tree_plan& plan, const tree_options& options) {
  json::object leaves;
  for (const planned_item& item : plan.items) {
    json::array keys;
    for (const tree_key& key : item.told.path)
      keys.emplace_back(json::object{{"key", key.text}, {"key_type", key.is_index ? 1 : 2}});
    leaves.push_back(
        {python_tuple(item.told.path), json::object{{"key_metadata", std::move(keys)},
                                                    {"value_metadata", value_entry(item, plan)}}});
  }
  json::object out{{"tree_metadata", std::move(leaves)},
                   {"use_ocdbt", options.as.ocdbt},
                   {"use_zarr3", options.how.zarr_format == 3},
                   {"store_array_data_equal_to_fill_value", true},
                   {"custom_metadata", options.as.custom_metadata}};
  if (options.as.rich_types)
    out.push_back({"value_metadata_tree", rich_text(plan, *options.as.rich_types)});
  return dump_json(json(std::move(out)));
}

/// Nested arrays of `{"id": 3}`.
ZARRPOINT_INLINE json device_grid(const device_mesh& mesh, std::size_t axis, std::size_t& at) {
  if (axis == mesh.shape.rank()) return json::object{{"id", mesh.devices[at++]}};
  json::array out;
  for (index_t i = 0; i < mesh.shape[axis]; ++i) out.push_back(device_grid(mesh, axis + 1, at));
  return out;
}

ZARRPOINT_INLINE json sharding_json(const sharding& of) {
  if (of.type == "SingleDeviceSharding")
    return json::object{{"sharding_type", of.type}, {"device_str", of.device}};
  if (of.type != "NamedSharding") return {};
  json::array axes, partition;
  for (const std::string& axis : of.mesh.axes) axes.emplace_back(axis);
  for (const std::vector<std::string>& cuts : of.partition) {
    if (cuts.size() < 2) {
      partition.push_back(cuts.empty() ? json() : json(cuts[0]));
      continue;
    }
    json::array several;
    for (const std::string& axis : cuts) several.emplace_back(axis);
    partition.emplace_back(std::move(several));
  }
  json::object out{{"sharding_type", of.type},
                   {"shape", array_of(of.mesh.shape)},
                   {"axis_names", std::move(axes)},
                   {"partition_spec", std::move(partition)}};
  if (!of.mesh.axis_types.empty()) {
    json::array types;
    for (const std::string& type : of.mesh.axis_types) types.emplace_back(type);
    out.push_back({"axis_types", std::move(types)});
  }
  std::size_t at = 0;
  if (!of.mesh.devices.empty())
    out.push_back({"device_mesh", json::object{{"mesh", device_grid(of.mesh, 0, at)}}});
  return out;
}

ZARRPOINT_INLINE std::string array_record(const tree_plan& plan) {
  json::array out;
  for (const planned_item& item : plan.items) {
    if (item.told.value_type != "jax.Array") continue;
    const json chunk = array_of(plan.arrays[*item.array].metadata().chunk_shape);
    json extra;
    if (!item.random_key.empty()) extra.set("random_key_impl", item.random_key);
    out.emplace_back(
        json::object{{"array_metadata", json::object{{"param_name", item.told.storage},
                                                     {"write_shape", chunk},
                                                     {"chunk_shape", chunk},
                                                     {"ext_metadata", std::move(extra)}}}});
  }
  if (out.empty()) return {};
  return dump_json(json::object{{"array_metadatas", std::move(out)}});
}

ZARRPOINT_INLINE std::string text_record(const tree_plan& plan) {
  // A '/' in a path nests, as it does in a JSON pointer.
  json out;
  bool any = false;
  for (const planned_item& item : plan.items) {
    if (item.told.value_type != "string") continue;
    any = true;
    std::string_view rest = item.told.storage;
    json* at = &out;
    for (std::size_t slash = rest.find('/'); slash != rest.npos; slash = rest.find('/')) {
      const std::string_view key = rest.substr(0, slash);
      if (at->find(key) == nullptr) at->set(std::string(key), json::object{});
      at = at->find(key);
      rest.remove_prefix(slash + 1);
    }
    at->set(std::string(rest), item.text);
  }
  return any ? dump_json(out) : std::string();
}

ZARRPOINT_INLINE std::string checkpoint_record(const checkpoint_facts& of) {
  const auto object_of = [](const json& one) { return one.is_null() ? json(json::object{}) : one; };
  return dump_json(
      json::object{{"item_handlers", of.item_handlers},
                   {"metrics", object_of(of.metrics)},
                   {"performance_metrics", object_of(of.performance_metrics)},
                   {"init_timestamp_nsecs", of.begin_time ? json(*of.begin_time) : json()},
                   {"commit_timestamp_nsecs", of.commit_time ? json(*of.commit_time) : json()},
                   {"custom_metadata", object_of(of.custom_metadata)}});
}

// --------------------------------------------------------------------------- orbax_shared_tree.hpp

ZARRPOINT_INLINE void add_path(const std::vector<tree_key>& path, v0::detail::wire_writer& to) {
  to.number(path.size());
  for (const tree_key& key : path) {
    to.flag(key.is_index);
    to.text(key.text);
  }
}

ZARRPOINT_INLINE std::vector<std::byte> encode_containers(
    const std::optional<std::vector<tree_container>>& all) {
  v0::detail::wire_writer to;
  to.flag(all.has_value());
  if (!all) return std::move(to).take();
  for (const tree_container& of : *all) {
    add_path(of.path.keys(), to);
    to.number(static_cast<std::uint64_t>(of.kind));
    to.text(of.type);
    to.number(of.fields.size());
    for (const std::string& field : of.fields) to.text(field);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE std::vector<std::byte> encode_leaves(std::span<const described_leaf> leaves) {
  v0::detail::wire_writer to;
  to.number(leaves.size());
  for (const described_leaf& leaf : leaves) {
    add_path(leaf.path, to);
    to.text(leaf.value_type);
    to.number(leaf.is_empty ? 0 : leaf.text ? 1 : leaf.is_number ? 2 : 3);
    if (leaf.text) to.text(*leaf.text);
    if (!leaf.is_array()) continue;
    to.type(leaf.spec.type);
    to.shape(leaf.spec.shape);
    to.part(leaf.at);
    to.text(leaf.random_key);
    to.flag(leaf.shard_key.has_value());
    if (leaf.shard_key) to.text(*leaf.shard_key);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<std::vector<described_leaf>> decode_leaves(bytes_view message) {
  v0::detail::wire_reader from(message);
  std::vector<described_leaf> out;
  for (std::size_t n = from.count(3); n > 0 && !from.failed(); --n) {
    described_leaf& leaf = out.emplace_back();
    for (std::size_t keys = from.count(2); keys > 0 && !from.failed(); --keys) {
      const bool is_index = from.flag();
      leaf.path.push_back({from.text(), is_index});
    }
    leaf.value_type = from.text();
    const std::uint64_t kind = from.limited(3);
    leaf.is_empty = kind == 0;
    leaf.is_number = kind == 2;
    if (kind == 1) leaf.text = from.text();
    if (kind < 2) continue;
    leaf.spec.type = from.type();
    leaf.spec.shape = from.shape();
    leaf.at = from.part();
    leaf.random_key = from.text();
    if (from.flag()) leaf.shard_key = from.text();
  }
  ZARRPOINT_CHECK(from.finish());
  return out;
}

/// Whether two processes mean the same leaf, whatever they have of it.
ZARRPOINT_INLINE bool is_same(const described_leaf& a, const described_leaf& b) {
  return a.value_type == b.value_type && a.is_empty == b.is_empty && a.text == b.text &&
         a.is_number == b.is_number && a.spec == b.spec && a.random_key == b.random_key;
}

/// The same in words.
ZARRPOINT_INLINE std::string kind_of(const described_leaf& leaf) {
  if (leaf.is_empty) return "an empty " + leaf.value_type;
  if (leaf.text) return "the text " + v0::detail::in_quotes(*leaf.text);
  std::string out = leaf.is_number ? "a number, " : "";
  out += to_string(leaf.spec);
  if (!leaf.value_type.empty())
    out += " of the value type " + v0::detail::in_quotes(leaf.value_type);
  if (!leaf.random_key.empty()) out += " of a key by " + v0::detail::in_quotes(leaf.random_key);
  return out;
}

/// Whose the leaf is. Two that are not one value may be of one shape at one path.
ZARRPOINT_INLINE std::string owner_of(const described_leaf& leaf) {
  return leaf.shard_key ? "the shard " + v0::detail::in_quotes(*leaf.shard_key) : "a value";
}

class tree_sharer {
 public:
  explicit tree_sharer(std::span<const std::vector<described_leaf>> all) : all_(all) {}

  result<shared_tree> run() {
    out_.parts.resize(all_.size());
    for (std::size_t rank = 0; rank < all_.size(); ++rank)
      for (std::size_t place = 0; place < all_[rank].size(); ++place)
        ZARRPOINT_CHECK(add(rank, place));
    ZARRPOINT_CHECK(check_holders());
    ZARRPOINT_TRY(chosen, v0::detail::distribute(table_));
    ZARRPOINT_CHECK(check_boxes(chosen));
    set_cuts(chosen);
    for (const std::uint32_t i : chosen)
      out_.parts[boxes_[i].rank].push_back({boxes_[i].place, boxes_[i].leaf, leaf_of(i).at});
    for (std::vector<shared_part>& parts : out_.parts)
      v0::detail::sort_by(
          parts, [](const shared_part& a, const shared_part& b) { return a.place < b.place; });
    return std::move(out_);
  }

 private:
  /// A box that a process has.
  struct held_box {
    std::size_t rank;
    std::size_t place;
    std::size_t leaf;
  };
  struct first_holder {
    std::size_t leaf;
    std::size_t rank;
  };

  result<void> add(std::size_t rank, std::size_t place) {
    const described_leaf& leaf = all_[rank][place];
    const auto [at, is_new] = first_.try_emplace(leaf.path, first_holder{out_.leaves.size(), rank});
    if (is_new) {
      described_leaf& whole = out_.leaves.emplace_back(leaf);
      if (leaf.is_array()) whole.at = box::whole(leaf.spec.shape);
      holders_.push_back(0);
    } else if (const auto& known = out_.leaves[at->second.leaf]; !is_same(known, leaf)) {
      return bad_tree("the leaf " + v0::detail::in_quotes(leaf.name()) + " is " + kind_of(known) +
                      " to rank " + std::to_string(at->second.rank) + " and " + kind_of(leaf) +
                      " to rank " + std::to_string(rank));
    } else if (known.shard_key != leaf.shard_key) {
      return bad_tree("the path " + v0::detail::in_quotes(leaf.name()) + " is that of " +
                      owner_of(known) + " to rank " + std::to_string(at->second.rank) + " and of " +
                      owner_of(leaf) + " to rank " + std::to_string(rank));
    } else if (at->second.rank == rank && !leaf.is_array()) {
      return bad_tree("rank " + std::to_string(rank) + " has two leaves of the path " +
                      v0::detail::in_quotes(leaf.name()));
    }
    if (!leaf.is_array()) return {};
    ZARRPOINT_CHECK(selection(leaf.at)
                        .check(leaf.spec.shape)
                        .at("the leaf " + v0::detail::in_quotes(leaf.name()) + " of rank " +
                            std::to_string(rank)));
    const std::size_t number = at->second.leaf;
    if (leaf.at.empty() || (leaf.is_number && holders_[number] != 0)) return {};
    ++holders_[number];
    boxes_.push_back({rank, place, number});
    return table_.add(static_cast<int>(rank), shard_of(leaf));
  }

  static shard_metadata shard_of(const described_leaf& leaf) {
    shard_metadata out;
    out.key = leaf.path.empty() ? "()" : leaf.name();  // a tree that is one leaf has no name for it
    out.type = leaf.spec.type;
    out.local_shape = leaf.at.shape;
    out.global_shape = leaf.spec.shape;
    out.global_offset = leaf.at.offset;
    return out;
  }

  /// An array of which nobody has an element is in no table.
  result<void> check_holders() const {
    for (std::size_t i = 0; i < out_.leaves.size(); ++i) {
      const described_leaf& leaf = out_.leaves[i];
      if (!leaf.is_array() || leaf.at.empty() || holders_[i] != 0) continue;
      return bad_tree("the leaf " + v0::detail::in_quotes(leaf.name()) +
                      ": no process has an element of it");
    }
    return {};
  }

  const described_leaf& leaf_of(std::uint32_t chosen) const {
    const held_box& at = boxes_[chosen];
    return all_[at.rank][at.place];
  }

  result<void> check_boxes(std::span<const std::uint32_t> chosen) const {
    v0::detail::shard_table once;
    for (const std::uint32_t i : chosen)
      ZARRPOINT_CHECK(once.add(static_cast<int>(boxes_[i].rank), shard_of(leaf_of(i))));
    return v0::detail::validate_sharding(once);
  }

  void set_cuts(std::span<const std::uint32_t> chosen) {
    out_.cuts.resize(out_.leaves.size());
    for (const std::uint32_t i : chosen) {
      const described_leaf& leaf = leaf_of(i);
      auto& [unit, largest] = out_.cuts[boxes_[i].leaf];
      if (unit.empty()) unit = dims(leaf.at.rank(), 0);
      for (std::size_t d = 0; d < unit.rank(); ++d)
        for (const index_t edge : {leaf.at.offset[d], leaf.at.offset[d] + leaf.at.shape[d]})
          if (edge != leaf.spec.shape[d]) unit[d] = std::gcd(unit[d], edge);
      largest = std::max(largest, element_count(leaf.at.shape).value_or(0));
    }
    for (auto& [unit, largest] : out_.cuts)
      if (std::all_of(unit.begin(), unit.end(), [](index_t n) { return n == 0; })) unit = dims();
  }

  std::span<const std::vector<described_leaf>> all_;
  shared_tree out_;
  std::map<std::vector<tree_key>, first_holder, path_is_before> first_;
  std::vector<std::size_t> holders_;  ///< of each leaf, with elements
  v0::detail::shard_table table_;
  std::vector<held_box> boxes_;  ///< those of the table
};

ZARRPOINT_INLINE result<shared_tree> share_tree(std::span<const std::vector<described_leaf>> all) {
  return tree_sharer(all).run();
}

}}}}  // namespace zarrpoint::v0::orbax::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/save_bodies.hpp>
#endif
