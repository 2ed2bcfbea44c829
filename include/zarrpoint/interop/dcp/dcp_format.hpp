// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/store/format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// In which boxes a tensor is stored. Together they are the tensor, and no two overlap.
struct tensor_boxes {
  std::string name;
  std::vector<box> boxes;
};

/// Where in the state dict a value is that has this name.
struct named_path {
  std::string name;
  std::vector<path_step> path;
};

/// Checkpoints of PyTorch in directories, as a format of `formats<...>`: `dcp://run/step/model.w`
/// is `model.w` of what is in `run/step`. The root of a run of Megatron-Core
/// (`latest_checkpointed_iteration.txt`) is its newest iteration. A directory that holds a Zarr
/// hierarchy is that. Metadata take at most what `place_use::memory` has room for.
///
/// As `save_options::format` its members say how a checkpoint is written.
struct format {
  static constexpr std::string_view name = "dcp";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use);

  /// A tensor of more bytes is stored in boxes of at most so many, cut along its first axes; 0: in
  /// one box.
  std::uint64_t chunk_bytes = 0;
  std::vector<tensor_boxes> boxes{};  ///< of single tensors, before `chunk_bytes`
  /// A file of a process that has so many bytes is followed by another one.
  std::uint64_t file_bytes = std::uint64_t{5} << 30;
  /// A process that has much fills up to so many files at once, one for each 128 MiB: Linux lets
  /// one thread at a time write to a file. 1: one after the other.
  std::size_t files_at_once = 8;
  /// Names that are not here stand in the state dict as they are, dots included. PyTorch makes the
  /// name of `{"model": {"w": ...}}` by joining the steps with dots.
  std::vector<named_path> paths{};
};

namespace detail {

/// Where in a directory the checkpoint is that `format` opens: the root, or the newest iteration of
/// a run of Megatron-Core. Nothing where there is none.
result<std::optional<store_key>> state_key(const any_store& directory);

}  // namespace detail

}}}  // namespace zarrpoint::v0::dcp
