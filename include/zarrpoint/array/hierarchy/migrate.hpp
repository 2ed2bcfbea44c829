// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/stored_node.hpp>

namespace zarrpoint { inline namespace v0 {

/// How a hierarchy goes from Zarr v2 to v3.
struct migrate_options {
  bool dry_run = false;    ///< finds out what could not be told in v3, and writes nothing
  bool remove_v2 = false;  ///< erases the documents of v2 when those of v3 are all there
};

namespace detail {

/// The `zarr.json` that says what the documents of a v2 node say. The chunks of an array stay where
/// they are, with the key encoding `v2`. A fill value that is null becomes zero, as which every
/// reader reads it. A level that `zstd` or `gzip` does not have becomes the one that it was taken
/// for. Errors: `unsupported` for what v3 cannot say, naming it; `corrupt`.
result<json> to_v3_document(const stored_node& of);

}  // namespace detail

/// Writes a `zarr.json` for the node at `key` and each one beneath, which then are of both formats;
/// readers of either find theirs. Chunks are not touched. Nothing is written unless all of it can
/// be told in v3; the document of `key` itself comes last. Returns the paths, relative to `key`.
/// Errors: `not_found`, `already_exists` when a `zarr.json` is there, `unsupported` naming the
/// node and what v3 cannot say, `corrupt`, `io`.
result<std::vector<std::string>> migrate_to_v3(const any_store& store, const store_key& key,
                                               const migrate_options& options = {},
                                               const context& how = default_context());

}}  // namespace zarrpoint::v0
