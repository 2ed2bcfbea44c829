// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <memory>

// Files of torch.save of before PyTorch 1.6, and of `_use_new_zipfile_serialization=False`: pickles
// of a magic number, a version, facts of the machine, the object and the names of its storages.
// Then each storage: the number of its elements in 64 bits, and the elements, little-endian.

namespace zarrpoint { inline namespace v0 { namespace torch {

/// Whether a file begins as one of these; its first 32 bytes tell.
bool is_legacy_file(bytes_view first_bytes);

namespace detail {

class storage_files;

struct legacy_content {
  pickle_value root;
  std::shared_ptr<const storage_files> storages;
};

/// Errors: `unsupported` for what torch.save did not write, and says what it is; `corrupt` where a
/// storage is missing or cut short; `resource_limit`; `io`; those of `read_pickle`.
result<legacy_content> read_legacy(std::unique_ptr<blob> from, const pickle_limits& limits);

}  // namespace detail
}}}  // namespace zarrpoint::v0::torch
