// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/orbax_save/orbax_described.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

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
