// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/file_options.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace dcp {

/// The checkpoint of PyTorch in the nearest directory on the way to `path`, and the key in it:
/// `run/step/model.w` is `model.w` of what is in `run/step`. The root of a run of Megatron-Core
/// (`latest_checkpointed_iteration.txt`) is its newest iteration. Nothing where there is none; a
/// directory that holds a Zarr hierarchy is that. Its metadata take at most what `memory` has room
/// for. Errors: those of `state_store::open`.
result<std::optional<stored_place>> find_state(const std::string& path,
                                               link_scope links = link_scope::none,
                                               std::uint64_t memory = UINT64_MAX);

namespace detail {

/// Where in a directory the checkpoint is that `find_state` opens: the root, or the newest
/// iteration of a run of Megatron-Core. Nothing where there is none.
result<std::optional<store_key>> state_key(const any_store& directory);

}  // namespace detail

}  // namespace dcp

/// `dcp://`: a checkpoint of torch.distributed.checkpoint. What is written there is `unsupported`.
struct dcp_scheme {
  static constexpr std::string_view name = "dcp";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// Paths: as those of `file_scheme`, and to read, a directory that holds such a checkpoint is that.
struct dcp_file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// The schemes of a `context` that opens checkpoints of PyTorch: `open(path, {.stores =
/// dcp_stores::table()})`.
using dcp_stores = default_stores::with<dcp_scheme, dcp_file_scheme>;

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/impl/dcp_scheme_impl.hpp>
#endif
