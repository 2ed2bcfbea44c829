// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include "source.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Where a hierarchy is, and the format of what holds it; empty for Zarr itself.
struct zarr_root {
  zp::any_store store;
  std::string container;
};

/// A Zarr hierarchy or a single array.
class zarr_source final : public source {
 public:
  zarr_source(zarr_root root, zp::detail::checkpoint_contents contents, const zp::context& how,
              zp::detail::consolidation_check consolidated = {});

  zp::result<void> read(std::size_t index, const zp::selection& part,
                        const zp::mutable_host_view& into) const override;
  zp::result<std::optional<zp::host_view>> lend(std::size_t index) const override;
  zp::result<std::optional<stored_parts>> parts(std::size_t index) const override;
  zp::result<std::uint64_t> stored_bytes(std::size_t index) const override;
  void verify(verification& to) const override;
  bool has_checksums(std::size_t index) const override;
  zp::json stored_form(std::size_t index) const override;
  zp::result<std::vector<stored_key>> stored_objects(std::size_t index) const override;
  zp::result<std::unique_ptr<zp::blob>> open_stored(std::size_t index,
                                                    const std::string& key) const override;

  const zp::any_store& store() const { return store_; }
  /// Whether it is a file of another format, seen as Zarr.
  bool is_view() const { return is_view_; }
  /// What the index of a model in several files leaves out of them, and how it counts wrong.
  const std::vector<finding>& told_by_index() const { return told_by_index_; }
  zp::context how() const override { return how_; }
  const zp::array_metadata* stored_as(std::size_t index) const override {
    return arrays_[index] && !is_view_ ? &arrays_[index]->metadata() : nullptr;
  }
  std::optional<bool> lacks_chunks(std::size_t index) const override;
  const zp::detail::checkpoint_contents& contents() const { return contents_; }
  /// How consolidated metadata differ from the nodes' own documents.
  const std::vector<zp::detail::document_finding>& differences() const { return differences_; }
  /// Null when it cannot be read.
  const zp::array* array_at(std::size_t index) const {
    return arrays_[index] ? &*arrays_[index] : nullptr;
  }

 private:
  void add(zp::detail::stored_leaf& leaf, const zp::context& how);
  zp::array expecting(zp::array array, const zp::detail::stored_leaf& leaf) const;
  void add_groups();
  void take_index();
  void tell_names();
  void tell_numbers();
  bool has_kept_number(const std::string& node, const zp::json& attributes) const;
  void add_missing(std::vector<zp::detail::stored_leaf> missing);
  void warn_of_differences();
  /// As `list_objects`, in a store that cannot list: those that our document names, else each chunk
  /// by its key. Errors: `unsupported` where these are too many.
  zp::result<std::vector<stored_key>> ask_for_objects(std::size_t index,
                                                      const zp::store_key& at) const;

  zp::any_store store_;
  zp::context how_;
  bool is_view_;  ///< of a file of another format
  zp::detail::checkpoint_contents contents_;
  std::vector<zp::detail::document_finding> differences_;
  std::vector<finding> told_by_index_;
  std::set<std::string> missing_;  ///< arrays that consolidated metadata alone name
  std::vector<std::optional<zp::array>> arrays_;
  std::map<std::string, std::size_t> alike_;  ///< the first entry of each document, at first
  mutable std::vector<std::unique_ptr<const zp::mapped_view>> lent_;  ///< few are
};

/// Whether a file of this name is a document of a node.
bool is_metadata_document(std::string_view name);

/// The objects below `at` but for its own metadata documents, sorted by key. Errors: `io`,
/// `resource_limit` for hierarchies too deep or too large.
zp::result<std::vector<stored_key>> list_objects(const zp::any_store& store,
                                                 const zp::store_key& at);

/// A hierarchy whose root or one of whose documents is damaged, as far as it goes: what does not
/// parse is told to `faults`. Errors: those of the store.
zp::result<source_pointer> open_damaged_zarr(const std::string& path, const zp::context& how,
                                             std::vector<finding>& faults);

/// Compares everything that `from` holds with what its documents and checksums say.
void verify_zarr(const zarr_source& from, verification& to);

}  // namespace cli
