// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/format.hpp>

#include <cstdint>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace megatron {

/// Backends of Megatron-Core's dist_checkpointing.
enum class backend : std::uint8_t { zarr, torch_dist };

/// Directories of Megatron-Core's zarr backend as a format of `formats<...>`: each tensor is an
/// array, and folders in its key are groups, though no document of Zarr says so. Objects and the
/// common state are not among them: see `directory`. A missing chunk of an array that has no fill
/// value was lost: it is `not_found`. Those of torch_dist are of `dcp::format`. As
/// `save_options::format` it is for states, by one process or many.
struct format {
  static constexpr std::string_view name = "megatron";
  static result<claim> sniff(const place_look& at);
  /// Errors: `resource_limit` for more than 100,000 folders, for more than `place_use::memory` has
  /// room for, and for folders nested deeper than 64 levels; those of the store.
  static result<stored_place> open(const place_look& at, const place_use& use);

  /// What a save writes: `zarr`, or `torch_dist`.
  backend writes = backend::zarr;
};

}}}  // namespace zarrpoint::v0::megatron
