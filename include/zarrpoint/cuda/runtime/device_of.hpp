// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/error.hpp>

#include <cuda_runtime_api.h>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// The number of the device whose memory, or managed memory, begins at `data`: what containers know
/// that do not tell it. For other memory, the current device of the calling thread; its `check`
/// then refuses it.
inline int device_of(const void* data) noexcept {
  cudaPointerAttributes known{};
  if (data != nullptr && detail::succeeded(cudaPointerGetAttributes(&known, data)) &&
      (known.type == cudaMemoryTypeDevice || known.type == cudaMemoryTypeManaged) &&
      known.device >= 0)
    return known.device;
  int current = 0;
  if (!detail::succeeded(cudaGetDevice(&current))) return 0;  // the next call says why
  return current;
}

}}}  // namespace zarrpoint::v0::cuda
