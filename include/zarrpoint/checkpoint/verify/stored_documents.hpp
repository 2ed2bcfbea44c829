// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

// The documents of a checkpoint of ours that other programs read, beside the commit document.

/// What is wrong with a document.
struct document_finding {
  std::string node;      ///< whose document it is, or whom it concerns; empty for the root
  std::string file;      ///< as the store describes it
  bool is_fault = true;  ///< false: the attributes alone differ from those of the commit document
  error what;
};

/// How a document compares with what it should be.
enum class document_match : std::uint8_t { same, other_attributes, different };

/// Attributes as they are compared: an object without members is none, which is null.
json known_attributes(const json* attributes);

/// By their text, in which NaN is like NaN.
bool same_text(const json& a, const json& b);

/// Documents of v3, or those of v2 without their attributes. An object without members is like no
/// attributes.
document_match compare_documents(const json& there, const json& wanted);

/// Compares each document with the commit document: of arrays, of groups, what is consolidated,
/// the root's attributes with their checksum. Errors: `cancelled`.
result<std::vector<document_finding>> check_documents(const any_store& store,
                                                      const checkpoint_contents& contents,
                                                      const context& how);

// Consolidated metadata of hierarchies that others wrote: copies of the nodes' documents, which
// nobody keeps up to date.

/// How consolidated metadata differ from the documents of the nodes.
struct consolidation_check {
  std::vector<document_finding> findings;  ///< all of them faults
  /// Arrays that the root's consolidated metadata name and that have no document of their own,
  /// sorted by name, with the copy of it.
  std::vector<stored_leaf> missing;
};

/// What is said of a leaf that is `missing`.
error no_own_document();

/// Compares the consolidated metadata of the root and of each group with the documents of the
/// nodes beneath it. `contents` are those of `store`, by listing or not. Errors: `cancelled`, and
/// those of a listing.
result<consolidation_check> check_consolidated(const any_store& store,
                                               const checkpoint_contents& contents,
                                               const context& how);

}}}  // namespace zarrpoint::v0::detail
