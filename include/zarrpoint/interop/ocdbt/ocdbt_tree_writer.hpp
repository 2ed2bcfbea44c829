// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_encoder.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>

#include <map>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What becomes of a key: it is gone, or has this value.
struct ocdbt_change {
  bool is_erased = false;
  std::vector<std::byte> bytes;           ///< a value that will lie in a node
  std::shared_ptr<ocdbt_data_file> file;  ///< where the value lies otherwise
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
using ocdbt_changes = std::map<std::string, ocdbt_change, std::less<>>;

/// Writes the nodes of one version.
class ocdbt_tree_writer {
 public:
  /// Reads the nodes before from `files`, and appends those that are new to `to`.
  ocdbt_tree_writer(const ocdbt_files& files, ocdbt_data_files& to, const ocdbt_configuration& how)
      : files_(files), to_(to), how_(how) {}

  /// The root of the tree with the changes, and its file: what none of them meets is shared.
  /// Errors: `corrupt`, those of the base.
  result<ocdbt_choice> write(const ocdbt_choice& before, const ocdbt_changes& changes);

  /// Adds a version to a manifest, whose older ones go to nodes of their own once it has enough.
  result<void> add_version(ocdbt_versions& versions, const ocdbt_choice& added);

 private:
  using range = std::pair<ocdbt_changes::const_iterator, ocdbt_changes::const_iterator>;
  using children = std::vector<ocdbt_child>;

  /// What to do at a node of the tree before.
  struct task {
    const ocdbt_node_place& at;
    range changes;
    const std::string* end;  ///< all of its keys are less; null: nothing limits them
    bool is_root;
  };

  result<children> update(const task& of);
  result<children> update_leaf(const task& of);
  result<children> update_parent(const task& of);
  // Where `may_be_root` and one node is enough, its keys leave nothing out.
  result<children> write_leaves(std::span<const ocdbt_leaf_entry> entries, bool may_be_root);
  result<children> write_parents(std::span<const ocdbt_child> entries, std::uint8_t height,
                                 bool may_be_root);
  template <class Entry, class F>
  std::vector<std::span<const Entry>> split(std::span<const Entry> entries, std::size_t least,
                                            F&& size) const;
  result<void> append_node(bytes_view body, ocdbt_child& out);
  result<ocdbt_version_child> append_versions(ocdbt_versions& all, const ocdbt_versions& older,
                                              std::uint8_t height);
  result<ocdbt_versions> read_children(const ocdbt_versions& all, const ocdbt_version_child& of);

  const ocdbt_files& files_;
  ocdbt_data_files& to_;
  const ocdbt_configuration& how_;
};

}}}  // namespace zarrpoint::v0::detail
