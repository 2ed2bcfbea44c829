// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// The metadata documents of a checkpoint: one for each array and group, the root's last.

namespace zarrpoint { inline namespace v0 { namespace detail {

result<void> put_document(const any_store& store, const store_key& node_key, std::string_view file,
                          const json& document);

/// The document of an array, as `leaf_record::metadata` and its file hold it.
result<json> array_document(const array_metadata& metadata);

/// The documents of an array: one, or in v2 its attributes too, if it has some.
result<void> put_array_document(const any_store& store, const store_key& key,
                                const leaf_record& leaf, int zarr_format);

/// The documents of the groups below the root; those in `attributes`, which is sorted, have some.
result<void> put_group_documents(const any_store& store, const std::vector<std::string>& groups,
                                 const json::object& attributes, int zarr_format);

/// What is consolidated of Zarr v2, where it is a file of its own: every node below the root.
result<json> consolidate_v2(const commit_document& document, const std::vector<std::string>& groups,
                            const json& attributes);

/// What the root's document is made of.
struct root_document {
  const commit_document& commit;
  const std::vector<std::string>& groups;  ///< sorted
  const save_options& options;
  std::size_t max_bytes = SIZE_MAX;  ///< more would not be read back: `limits::metadata_bytes`
  /// The compact text of the document of each leaf, where it is known; else it is made of the
  /// metadata in `commit`.
  std::span<const std::string_view> documents{};
};

/// The file that makes it a checkpoint: written last. What is consolidated is left out where a
/// document would be too large with it; false then.
result<bool> put_root_document(const any_store& store, const root_document& of);

/// The documents of the groups, and the root's last. Nothing is consolidated where `all_core` is
/// false. zarr-python refuses a consolidated group for one data type that it does not know, such as
/// the records of v3. It opens the other leaves when nothing is. False where what is asked for to
/// be consolidated would be too large.
result<bool> put_hierarchy(const any_store& store, const root_document& of, bool all_core);

/// Whether zarr-python knows the data type of an array.
bool is_core_array(const array_metadata& metadata);

/// Takes away what makes a hierarchy a checkpoint, before it is overwritten in place.
result<void> erase_root_document(const any_store& store);

/// Takes away what a v2 node may have of an older checkpoint that is overwritten in place.
result<void> erase_v2_attributes(const any_store& store, std::string_view path);

/// The attributes that a caller gives must leave our member alone, and be what JSON can say.
result<void> check_attributes(const json& attributes);

/// `save_options::attributes_of`, sorted by name; null where there are none. Errors:
/// `invalid_argument` for what is not an object, is nested too deeply for the commit document, or
/// has a name twice.
result<json::object> sorted_attributes_of(const save_options& options);

/// Those of `sorted` that are a group's; each must be one of `groups` or of `leaves`, which are
/// names, both sorted. Errors: `invalid_argument` naming another, and our member in a group's.
result<json::object> attributes_of_groups(const json::object& sorted,
                                          const std::vector<std::string>& groups,
                                          std::span<const std::string_view> leaves);

}}}  // namespace zarrpoint::v0::detail
