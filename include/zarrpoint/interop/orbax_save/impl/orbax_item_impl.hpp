// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

ZARRPOINT_INLINE std::string tree_path::joined(char separator) const {
  std::string out;
  for (const tree_key& key : keys_) {
    if (&key != keys_.data()) out += separator;
    out += key.text;
  }
  return out;
}

namespace detail {

/// Finds containers with the keys of their paths, of which `to_value` has the texts only: a class
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
