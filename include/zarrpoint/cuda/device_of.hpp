// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace zarrpoint::inline v0::cuda {

/// The number of the device whose memory, or managed memory, begins at `data`: what containers know
/// that do not tell it. Of other memory the calling thread's current device, whose `check` then
/// refuses it.
inline int device_of(const void* data) noexcept {
  cudaPointerAttributes known{};
  if (data != nullptr && cudaPointerGetAttributes(&known, data) == cudaSuccess &&
      (known.type == cudaMemoryTypeDevice || known.type == cudaMemoryTypeManaged) &&
      known.device >= 0)
    return known.device;
  int current = 0;
  if (cudaGetDevice(&current) != cudaSuccess) current = 0;
  static_cast<void>(cudaGetLastError());  // what failed here, the next call says as well
  return current;
}

}  // namespace zarrpoint::inline v0::cuda
