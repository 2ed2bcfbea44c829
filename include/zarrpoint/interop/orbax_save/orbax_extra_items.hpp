// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>

#include <cstddef>
#include <string>
#include <vector>

// What a step has beside its tree.

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// Writes `metadata/_ROOT_METADATA` of a manager's root, as `CheckpointManager(root, metadata=...)`
/// does; `custom` is an object. Errors: `invalid_argument`; those of the store.
result<void> save_root_metadata(const location& root, const json& custom,
                                const context& how = default_context());

namespace detail {

/// A file of an item.
struct extra_file {
  std::string path;  ///< from the directory of the step
  std::vector<std::byte> bytes;
};

/// The files of `format::extras`, without the marks of their commit. Errors:
/// `invalid_argument`.
result<std::vector<extra_file>> extra_files(const format& as);

/// An item and its handler, as `_CHECKPOINT_METADATA` has them.
struct extra_handler {
  std::string item;
  std::string handler;
};
std::vector<extra_handler> extra_handlers(const format& as);

}  // namespace detail

}}}  // namespace zarrpoint::v0::orbax
