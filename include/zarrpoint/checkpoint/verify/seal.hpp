// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/result.hpp>

#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What `seal` did.
struct seal_report {
  std::string id;                     ///< of the checkpoint, as before
  std::vector<std::string> accepted;  ///< nodes whose attributes were edited; "" is the root
  bool is_written = false;            ///< false: all was sealed before, and nothing was changed
};

/// Takes the attributes of a checkpoint as they are: edited by another program, or as they were
/// saved, where the checkpoint is older than their checksum. It writes the commit document anew,
/// with its checksums. Chunks are neither read nor written. Errors: `corrupt` for a document that
/// differs in anything else, and then nothing is changed; `unsupported` for hierarchies of others
/// and places that are written as a whole, such as zip files; those of `open` and of writing.
result<seal_report> seal(const location& where, const context& how = default_context());

}}  // namespace zarrpoint::v0
