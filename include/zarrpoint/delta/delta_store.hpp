// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/delta/delta_document.hpp>
#include <zarrpoint/delta/difference.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Where deltas look for their bases.
struct delta_options {
  /// That of the delta that is opened; nothing: where the delta says.
  std::optional<location> base{};
  /// A base may lie outside of the directory around its delta, where the delta says so.
  bool outside = false;
  std::size_t most = 64;  ///< deltas that stand on each other
};

namespace detail {

/// A hierarchy and what is in it.
struct opened_root {
  any_store store;
  checkpoint_contents contents;
  std::vector<std::string> under{};  ///< ids of what it stands on
};

/// The codecs of the arrays of differences.
using difference_codecs = codec_registry<bytes_codec, crc32c_codec, difference_codec>;

/// A leaf that differs.
struct differing_leaf {
  std::string name;
  std::unique_ptr<const array_state> stored;  ///< its differences
  std::shared_ptr<const chunk_digests> digests;
  std::optional<array> base;
  const chunk_digests* results = nullptr;
  tensor_spec chunk;  ///< an inner chunk
  std::size_t chunk_bytes = 0;
  std::size_t word = 1;
  context how;  ///< of one worker
};

/// That of a leaf's differences, without base and results yet. Errors: `corrupt`, `unsupported`,
/// `resource_limit`.
result<std::shared_ptr<const differing_leaf>> make_differing(const any_store& delta,
                                                             const leaf_record& record,
                                                             const context& how);

/// The leaf of that name, or null.
const stored_leaf* find_leaf(const checkpoint_contents& in, std::string_view name);

/// The array of a leaf, as strict as a checkpoint's.
result<array> array_of(const opened_root& in, const stored_leaf& leaf, const context& how);

/// A place with the directory in which names of bases are looked up.
struct chain_place {
  any_store root;
  std::optional<any_store> parent{};
  std::string parent_path{};  ///< of files; else empty
};

/// The directory around a path.
std::string parent_of(std::string path);

/// What a location names, whatever formats are known. Errors: those of the store.
result<chain_place> place_of(const location& where, const context& how);

/// A context of one delta of a chain. Each has scratch memory of its own, since a read of one waits
/// for those beneath it: all together have what one would have.
context one_of_chain(context how, std::size_t deltas);

/// A delta on its base, as the checkpoint that it means: a store to read and list. Leaves that did
/// not change are those of the base, new ones those of the delta, as they are stored there. What
/// differs is decoded as it is read, and is raw.
class delta_store {
 public:
  /// Errors: `invalid_argument` for a base that is another; `unsupported` for one that is not
  /// a checkpoint of ours in Zarr v3; `corrupt` for documents that do not fit.
  static result<delta_store> make(const any_store& delta, delta_document document,
                                  const opened_root& base, const context& how);

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const;
  bool lists_cheaply() const { return true; }
  const void* identity() const noexcept { return state_.get(); }

  struct state;

 private:
  explicit delta_store(std::shared_ptr<const state> made) : state_(std::move(made)) {}
  std::shared_ptr<const state> state_;
};

/// What is at a place; a delta with all that it is put on. Errors: `not_found` saying which base is
/// missing, and where it was looked for; `corrupt` for a chain that does not end;
/// `invalid_argument` for a base outside; `resource_limit` for too long a chain.
result<opened_root> open_chain(const location& where, const delta_options& search,
                               const context& how);

}  // namespace detail

}}  // namespace zarrpoint::v0
