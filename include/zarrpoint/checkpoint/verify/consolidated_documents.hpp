// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <vector>

// Consolidated metadata of hierarchies that others wrote: copies of the nodes' documents, which
// nobody keeps up to date.

namespace zarrpoint { inline namespace v0 { namespace detail {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/verify/impl/consolidated_documents_impl.hpp>
#endif
