// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// How a group is created.
struct group_options {
  int zarr_format = 3;  ///< of a root; below, it is that of the group above
  json attributes{};    ///< an object, or null for none
};

/// Which metadata a group is opened by.
enum class metadata_use : std::uint8_t {
  stored,        ///< each node's own documents
  consolidated,  ///< the consolidated metadata, where there are some: one read, and as old as they
};

/// One Zarr group, v2 or v3, in a store, and through it the hierarchy beneath. Paths are relative
/// to it, such as `layers/0/w`. A cheap handle that holds no lock. What others change meanwhile is
/// seen when it is asked for. That is not so of the group's own attributes and consolidated
/// metadata, which are those of when it was opened.
///
/// Writing leaves consolidated metadata as they are: call `consolidate` when all is done.
class group {
 public:
  /// The group at `key`. Errors: `not_found`, `invalid_argument` when an array is there, `corrupt`,
  /// `unsupported` (a member that must be understood, consolidated metadata of another kind), `io`.
  static result<group> open(any_store store, store_key key = store_key::root(),
                            const context& how = default_context(),
                            metadata_use use = metadata_use::stored);

  /// A new group at `key`; nothing is made above it. Errors: `already_exists` when a node is there,
  /// `invalid_argument` for attributes that JSON cannot say or another format than 2 and 3, `io`.
  static result<group> create(any_store store, store_key key = store_key::root(),
                              const group_options& options = {},
                              const context& how = default_context());

  const any_store& store() const noexcept { return at_.store; }
  const store_key& key() const noexcept { return at_.key; }
  int zarr_format() const noexcept { return metadata_.zarr_format; }
  /// An object, or null for none.
  const json& attributes() const noexcept { return metadata_.attributes; }
  /// Whether it was opened by consolidated metadata: then `members` and `open` read no document.
  bool is_consolidated() const noexcept { return consolidated_ != nullptr; }

  /// Replaces the attributes, in one step; other members of the document stay. Errors:
  /// `invalid_argument`, `io`.
  result<void> set_attributes(json attributes);
  /// The same for a group or array beneath. Errors: `not_found` as well.
  result<void> set_attributes(std::string_view path, const json& attributes) const;

  /// The groups and arrays directly beneath, by name.
  result<std::vector<stored_node>> members() const;
  /// All groups and arrays beneath, by depth and then by path.
  result<std::vector<stored_node>> walk() const;
  /// What is at `path`: nothing when there is no node.
  result<std::optional<stored_node>> find(std::string_view path) const;

  /// The group at `path`. Errors: as `open`.
  result<group> open_group(std::string_view path) const;
  /// The array at `path`. Errors: as `array::open`.
  result<array> open_array(std::string_view path) const;

  /// A new group at `path`, and those above it that are missing. Errors: `already_exists`,
  /// `invalid_argument` for a name that no node may have (Zarr v3 core, "Node names"), or an array
  /// above.
  result<group> create_group(std::string_view path, json attributes = {}) const;
  /// A new array at `path`, of the format of the group, and the groups above it that are missing.
  /// Errors: those of `create_group` and `array::create`.
  result<array> create_array(std::string_view path, array_metadata metadata) const;

  /// Erases the node at `path` with all beneath it; false when nothing was there. Errors:
  /// `invalid_argument` for the group itself, those of `erase_tree`.
  result<bool> erase(std::string_view path) const;
  /// Gives the node at `from` the path `to`, with all beneath it. Errors: `not_found`,
  /// `already_exists`, `invalid_argument`, those of `rename_tree`.
  result<void> rename(std::string_view from, std::string_view to) const;
  /// Copies the node at `path`, with all beneath it, to `to` in another group, also in another
  /// store: bytes as they are. Errors: `not_found`, `already_exists`, `invalid_argument` when the
  /// formats differ or one lies within the other, those of `copy_tree`.
  result<void> copy(std::string_view path, const group& target, std::string_view to) const;

  /// Gathers the metadata of all nodes beneath, as zarr-python does: in the `zarr.json` of a v3
  /// group, in the `.zmetadata` of a v2 group. Errors: those of `walk`.
  result<void> consolidate() const;

 private:
  using node_list = std::vector<stored_node>;
  using nodes = std::shared_ptr<const node_list>;

  struct location_of_group {
    any_store store;
    store_key key;
    context how;
  };

  group(location_of_group at, group_metadata metadata, nodes consolidated);

  result<stored_node> own_node() const;

  result<stored_node> require(std::string_view path, node_kind kind) const;

  /// What is stored at `path`, whatever consolidated metadata say.
  result<stored_node> stored_at(std::string_view path) const;

  result<store_key> member_key(std::string_view path) const;

  result<void> check_free(std::string_view path) const;

  /// The groups above `path`, made where they are missing.
  result<void> make_parents(std::string_view path) const;

  result<void> write_attributes(const store_key& relative, const json& attributes) const;

  result<void> consolidate_v3(stored_node root, const node_list& beneath) const;
  static json inline_documents(json::object documents);

  result<void> consolidate_v2(const stored_node& root, const node_list& beneath) const;

  location_of_group at_;
  group_metadata metadata_;
  nodes consolidated_;
};

}}  // namespace zarrpoint::v0
