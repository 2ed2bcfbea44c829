// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>

#include <functional>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// One entry of a leaf.
struct ocdbt_item {
  std::string key;   ///< whole
  std::string base;  ///< of the data files that the leaf names
  std::shared_ptr<const ocdbt_node> leaf;
  std::size_t index = 0;

  const ocdbt_node::entry& entry() const { return leaf->entries[index]; }
};

/// A node, with what its keys and the paths of its files leave out.
struct ocdbt_node_place {
  std::shared_ptr<const ocdbt_node> node;
  std::string prefix;
  std::string base;
};

/// A child of a node that is not a leaf.
result<ocdbt_node_place> ocdbt_child_at(const ocdbt_files& files, const ocdbt_node_place& of,
                                        std::size_t index);

/// The tree of keys of one version.
class ocdbt_tree {
 public:
  /// The tree whose root `at` is in one of `files`. Errors: those of `ocdbt_files::node`.
  static result<ocdbt_tree> open(std::shared_ptr<const ocdbt_files> files, const ocdbt_root& at,
                                 const ocdbt_file& file);

  /// The entry of a key; false if there is none.
  result<bool> find(std::string_view key, ocdbt_item& out) const;

  /// The first entry whose key is not less than `key`; false if there is none.
  result<bool> at_least(std::string_view key, ocdbt_item& out) const;

  /// Calls `take` with each entry, in the order of keys, until it fails. Errors beside its own:
  /// `corrupt`, also for a node that is met twice.
  result<void> for_each(const std::function<result<void>(const ocdbt_item&)>& take) const;

 private:
  struct walk;

  result<bool> at_least(const ocdbt_node_place& of, std::string_view key, ocdbt_item& out) const;
  result<void> visit(const ocdbt_node_place& of, walk& how) const;

  std::shared_ptr<const ocdbt_files> files_;
  ocdbt_node_place root_;  ///< without a node: there are no keys
};

/// The generation, or the newest not younger than the time, or the newest: its root, and the file
/// that this is in. Errors: `not_found`.
struct ocdbt_choice {
  ocdbt_root root;
  ocdbt_file file;
};
struct ocdbt_wanted {
  const std::uint64_t* generation = nullptr;
  const std::uint64_t* commit_time = nullptr;
};
result<ocdbt_choice> choose_ocdbt_version(const ocdbt_files& files, const ocdbt_versions& all,
                                          const ocdbt_wanted& wanted);

/// All versions, the oldest first.
result<std::vector<ocdbt_root>> list_ocdbt_versions(const ocdbt_files& files,
                                                    const ocdbt_versions& all);

}}}  // namespace zarrpoint::v0::detail
