// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// To Orbax.

#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/orbax.hpp>

#include "about_orbax.hpp"
#include "conversion.hpp"
#include "output.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace {

namespace orbax = zp::orbax;

/// The tree of a source that is Orbax's.
struct known_tree {
  std::map<std::string, orbax::tree_leaf, std::less<>> leaves;  ///< by name
  std::vector<std::pair<std::string, orbax::sharding>> shardings;
  std::map<std::string, std::string, std::less<>> random_keys;  ///< by name
  zp::json step_metadata;
  std::optional<std::vector<orbax::tree_container>> rich_types;  ///< if it tells of them
};

/// The tuples and named tuples of a tree.
std::optional<std::vector<orbax::tree_container>> containers_in(const orbax::tree& from) {
  if (from.rich_types.empty()) return {};
  auto all = orbax::containers_of(from);
  if (!all) {
    note("tuples become lists, and named tuples dicts: " + std::string(all.failure().message));
    return {};
  }
  return *std::move(all);
}

/// Those of them that can be saved: Python has classes without such a name, as within functions.
void drop_unsaved(std::vector<orbax::tree_container>& all) {
  std::erase_if(all, [](const orbax::tree_container& each) {
    const auto checked = orbax::detail::check_container(each);
    if (!checked) note("it becomes a dict: " + std::string(checked.failure().message));
    return !checked;
  });
}

zp::result<std::optional<known_tree>> tree_of(const orbax_target& target, std::uint64_t memory) {
  ZARRPOINT_TRY(at, orbax::find_at(target.in, target.links));
  // Of a part of a tree the names are others.
  if (!at || !at->rest.is_root()) return std::optional<known_tree>();
  ZARRPOINT_TRY(is_tree, orbax::detail::holds_tree(at->found.place));
  if (!is_tree) return std::optional<known_tree>();
  ZARRPOINT_TRY(store, orbax::tree_store::open(at->found.place.store, at->found.place.key, memory));
  known_tree out;
  for (const orbax::tree_leaf& leaf : store.tree().leaves) out.leaves.emplace(leaf.name, leaf);
  out.rich_types = containers_in(store.tree());
  if (auto shardings = store.shardings()) {
    out.shardings = *std::move(shardings);
  } else {
    note("shardings are left out: " + std::string(shardings.failure().message));
  }
  if (const auto facts = store.array_facts()) {
    for (const orbax::array_facts& each : *facts)
      if (!each.random_key.empty()) out.random_keys.emplace(each.name, each.random_key);
  } else {
    note("keys of jax.random become arrays: " + std::string(facts.failure().message));
  }
  if (const auto about = about_orbax(target.in, target.links, memory)) {
    const zp::json* const custom = about->find("custom_metadata");
    if (custom != nullptr && custom->if_object() != nullptr) out.step_metadata = *custom;
  }
  return std::optional(std::move(out));
}

orbax::empty_value empty_of(std::string_view type, bool is_rich) {
  if (type == "Dict") return orbax::empty_value::dict;
  if (type == "List") return orbax::empty_value::list;
  if (type == "Tuple") return orbax::empty_value::tuple;
  if (type == "NamedTuple" && is_rich) return orbax::empty_value::named_tuple;
  return orbax::empty_value::none;
}

/// What is made of each leaf, by what is known of the source.
class orbax_conversion {
 public:
  orbax_conversion(const conversion& what, const zp::save_options& options,
                   const orbax_target& target, std::optional<known_tree> tree)
      : what_(what), target_(target), tree_(std::move(tree)) {
    how_.zarr_format = target.zarr_format;
    as_.ocdbt = target.ocdbt;
    how_.rules = options.rules;
    how_.layouts = options.layouts;
    how_.overwrite = options.overwrite;
    const zp::json::object* const members = options.attributes.if_object();
    if (members != nullptr && !members->empty()) as_.custom_metadata = options.attributes;
    if (!tree_) return;
    as_.step_metadata = tree_->step_metadata;
    if (target.is_whole) {
      as_.rich_types = std::move(tree_->rich_types);
      if (as_.rich_types) drop_unsaved(*as_.rich_types);
    } else if (tree_->rich_types && !tree_->rich_types->empty()) {
      note(
          "tuples and named tuples become dicts, since not all of the tree is converted by its own "
          "names");
    }
  }

  zp::result<void> save(std::span<const zp::leaf> leaves, const zp::context& how) {
    std::vector<orbax::tree_item> items;
    for (std::size_t i = 0; i < what_.arrays.size(); ++i)
      items.push_back(item_of(what_.arrays[i], leaves[i]));
    if (tree_ && target_.is_whole)
      for (const auto& [name, leaf] : tree_->leaves)
        if (leaf.value_type == "None" && leaf.is_skipped)
          items.push_back({path_of(leaf), orbax::empty_value::none});
    add_groups(items);
    how_.format = as_;
    return orbax::save(what_.out, items, how_, how).transform([](const auto&) {});
  }

 private:
  const orbax::tree_leaf* told_of(std::string_view name) const {
    if (!tree_) return nullptr;
    const auto at = tree_->leaves.find(name);
    return at != tree_->leaves.end() ? &at->second : nullptr;
  }

  /// Those that hold nothing at all: a group without arrays may hold such a group, or `None`.
  void add_groups(std::vector<orbax::tree_item>& to) const {
    std::vector<std::string> names = what_.empty_groups;
    // As they are shown: the key "a/b" does not lie beneath the dict "a".
    for (const converted& array : what_.arrays) names.push_back(array.name);
    if (tree_ && target_.is_whole)
      for (const auto& [name, leaf] : tree_->leaves) names.push_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& group : what_.empty_groups) {
      const auto beneath = std::lower_bound(names.begin(), names.end(), group + '/');
      if (beneath != names.end() && beneath->starts_with(group + '/')) continue;
      const orbax::tree_leaf* const told = told_of(group);
      if (told == nullptr) {
        to.push_back({group, orbax::empty_value::dict});
      } else {
        to.push_back({path_of(*told), empty_of(told->value_type, as_.rich_types.has_value())});
      }
    }
  }

  /// A list of which elements are left out is none any more.
  orbax::tree_path path_of(const orbax::tree_leaf& told) const {
    std::vector<orbax::tree_key> out = told.path;
    if (!target_.is_whole)
      for (orbax::tree_key& key : out) key.is_index = false;
    return out;
  }

  orbax::tree_item item_of(const converted& array, const zp::leaf& leaf) {
    const entry& from = what_.from.entries()[array.index];
    const orbax::tree_leaf* const told = told_of(from.name);
    const bool keeps_name = from.name == array.name;
    // An array that was a tree of its own has the name of its file by now.
    orbax::tree_item out{
        told != nullptr && keeps_name ? path_of(*told) : orbax::tree_path(array.name), leaf};
    const bool is_text = array.type == zp::dtype_kind::string;
    if (told == nullptr) {
      const bool is_scalar = from.typestr == "scalar" && from.spec->shape.rank() == 0;
      if (is_scalar && !is_text && orbax::detail::is_python_number(array.type))
        out.value_type = "scalar";
      return out;
    }
    // Of a number of another type Orbax makes none.
    const bool is_number = orbax::detail::is_python_number(array.type);
    if (!is_text && (told->value_type != "scalar" || is_number)) out.value_type = told->value_type;
    if (const auto key = tree_->random_keys.find(from.name); key != tree_->random_keys.end()) {
      if (array.type == from.spec->type) out.random_key = key->second;
    }
    const auto& known = tree_->shardings;
    const auto sharding =
        std::lower_bound(known.begin(), known.end(), from.name,
                         [](const auto& one, const std::string& name) { return one.first < name; });
    if (told->value_type == "jax.Array" && sharding != known.end() && sharding->first == from.name)
      as_.shardings.emplace_back(out.path.joined('/'), sharding->second);
    return out;
  }

  const conversion& what_;
  const orbax_target& target_;
  std::optional<known_tree> tree_;
  zp::save_options how_;
  orbax::format as_;
};

}  // namespace

zp::result<void> convert_to_orbax(const conversion& what, const zp::save_options& options,
                                  const orbax_target& target, const zp::context& how) {
  ZARRPOINT_TRY(tree, tree_of(target, how.limit.memory));
  orbax_conversion conversion(what, options, target, std::move(tree));
  return save_converted(
      what,
      [&](std::span<const zp::leaf> leaves, const zp::context& with) {
        return conversion.save(leaves, with);
      },
      how);
}

}  // namespace cli
