// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <memory>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// A tree that Orbax saved, as a store to read and list in which it is a Zarr hierarchy. Each array
/// lies at the path of its leaf (`params/dense/kernel`). Orbax may keep it in an OCDBT database or
/// in directories, as Zarr v2 or v3. Text leaves are arrays of rank 0 with the data type `string`;
/// empty dicts and lists are groups; what is `None` is only in `tree()`. What Orbax before 0.5 kept
/// in the msgpack file `checkpoint` is there as well. Where the path of a leaf is not a key, or is
/// another's, its name is told as `detail::shown_names` says, and the attribute `original_name` is
/// the path.
///
/// Every call for Zarr hierarchies works on it. A missing chunk is `not_found` where Orbax stores
/// all of them, never the fill value. To load a leaf of which nothing is stored is `corrupt`, and
/// one that a handler of the user's own saved is `unsupported`. The attribute `unread` says why.
class tree_store : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// The tree in the directory `at` of `base`, which holds `_METADATA` or the older `checkpoint`.
  /// Errors: `not_found` for no such directory, and for one without either. `corrupt`, naming the
  /// file, also where `_METADATA` is missing beside other files of Orbax's. `unsupported` for a
  /// type that Zarr does not have, and those of `ocdbt_store::open`. Documents and the nodes of a
  /// database take at most what `memory`, such as `limits::memory`, has room for; else they are
  /// `resource_limit`. Of the file `checkpoint` the names and texts may have 128 MiB whatever it
  /// says.
  static result<tree_store> open(any_store base, store_key at, std::uint64_t memory = UINT64_MAX);

  /// The tree as Orbax describes it, with what is empty.
  const orbax::tree& tree() const noexcept;

  /// How each leaf lay on devices, by its name, as far as `_sharding` tells; read anew each time.
  /// Errors: those of `read_shardings`, naming the file.
  result<std::vector<std::pair<std::string, sharding>>> shardings() const;

  /// What the files of `array_metadatas` tell of each leaf, by its name; read anew each time.
  /// Errors: `corrupt`, naming the file, also where two processes do not agree.
  result<std::vector<orbax::array_facts>> array_facts() const;

 private:
  struct state;
  explicit tree_store(std::shared_ptr<const state> opened);

  static result<tree_store> read(any_store base, store_key at, std::uint64_t memory);

  std::shared_ptr<const state> state_;
};

}}}  // namespace zarrpoint::v0::orbax
