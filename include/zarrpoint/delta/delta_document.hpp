// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What makes a hierarchy a delta: the member `zarrpoint` of the root's attributes, of format 2.
struct delta_document {
  static constexpr int format = 2;

  std::string base_id;
  std::string base_forms;            ///< `forms_of` the base
  std::string base_path;             ///< from the directory of the delta; or empty
  std::vector<std::string> removed;  ///< leaves of the base that are gone, sorted
  /// By leaf: what the objects of the leaves that differ are, once they are put on the base.
  std::map<std::string, chunk_digests, std::less<>> results;
  commit_document commit;  ///< of what is stored in the delta
  json attributes;         ///< of the root, without our member
};

/// `corrupt`, with "delta document: " before it.
error bad_delta(const std::string& what);

/// The checksum of the names, data types and shapes of all leaves, in hexadecimal.
std::string forms_of(const checkpoint_contents& contents);

/// The text of a delta's root.
std::string delta_root_text(const delta_document& of);

/// Whether the document at the root says that it is a delta, by its first bytes. Errors: those of
/// the store.
result<bool> is_delta(const any_store& root);

/// The document at the root of a store; nothing for all that is not a delta. Errors: `corrupt` for
/// a broken seal or a missing member; those of the store; `resource_limit`.
result<std::optional<delta_document>> read_delta_document(const any_store& root,
                                                          const context& how);

/// What an array of differences is once they are put on the base: raw, with the same chunks. And
/// the array of differences that such a one has. Errors: `corrupt` for another chain.
result<array_metadata> raw_form(array_metadata of_differences);
result<array_metadata> difference_form(array_metadata raw);

}}}  // namespace zarrpoint::v0::detail
