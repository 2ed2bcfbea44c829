// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/interop/safetensors/safetensors_header.hpp>

#include <cstdint>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace safetensors {

/// A model in several files, written by many processes, as `save_options::format` of their save:
/// `{.storage = {.format = safetensors::group_format{}}}`. `format` reads it, and all that reads
/// Hugging Face's models does.
///
/// Each tensor is whole in one file. Of the processes that have shards of it one writes it, to
/// which the others send theirs, within `limits::memory`. The files of rank `r` are `model-<r +
/// 1>-<n>.safetensors`, each number of five digits. Numbers that all processes have in common are
/// tensors of rank 0 at their paths, as "opt/lr", in `model-common.safetensors`. Rank 0 writes
/// `model.safetensors.index.json` last.
///
/// Errors are those of the save by many processes; before a byte is written:
/// - `unsupported`, naming it: a dtype that the format does not have, flat pieces of several shards
///   of a tensor, objects, texts and null among what is common.
/// - `unsupported`: a path that ends in `.safetensors`, which is one file.
/// - `invalid_argument`: files of at most 0 bytes, a common number that has the name of a tensor,
///   and nothing to save.
struct group_format {
  static constexpr std::string_view name = "safetensors";

  /// The bytes of tensors in a file. A larger tensor has one of its own.
  std::uint64_t max_file_bytes = 5'000'000'000;
  metadata_map metadata{};  ///< of each file, as `{{"format", "pt"}}`
};

/// What `zarrpoint::save` by many processes does with it.
result<group_saver> group_save_as(const group_format& as, const group_save_request& what);

}}}  // namespace zarrpoint::v0::safetensors
