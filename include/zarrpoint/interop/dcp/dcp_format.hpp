// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/store/format.hpp>

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// Checkpoints of PyTorch in directories, as a format of `formats<...>`: `dcp://run/step/model.w`
/// is `model.w` of what is in `run/step`. The root of a run of Megatron-Core
/// (`latest_checkpointed_iteration.txt`) is its newest iteration. A directory that holds a Zarr
/// hierarchy is that. Metadata take at most what `place_use::memory` has room for.
struct format {
  static constexpr std::string_view name = "dcp";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use);
};

namespace detail {

/// Where in a directory the checkpoint is that `format` opens: the root, or the newest iteration of
/// a run of Megatron-Core. Nothing where there is none.
result<std::optional<store_key>> state_key(const any_store& directory);

}  // namespace detail

}}}  // namespace zarrpoint::v0::dcp
