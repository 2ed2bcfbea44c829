// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace cuda { namespace detail {

/// Whether the runtime found nothing to run on.
constexpr bool means_no_device(cudaError_t status) noexcept {
  return status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver ||
         status == cudaErrorStubLibrary || status == cudaErrorInitializationError ||
         status == cudaErrorSystemNotReady || status == cudaErrorSystemDriverMismatch ||
         status == cudaErrorCompatNotSupportedOnDevice;
}

/// What was asked for, in words that only an error needs.
struct request {
  int device = 0;
  std::string_view what;
  std::size_t bytes = 0;  ///< 0: of no meaning

  std::string text() const {
    std::string out = "cuda:" + std::to_string(device) + ": ";
    out.append(what);
    if (bytes != 0) out.append(" of ").append(std::to_string(bytes)).append(" bytes");
    return out;
  }
};

/// The runtime's word for a status, and its explanation.
inline std::string describe(cudaError_t status) {
  std::string out = cudaGetErrorName(status);
  return out.append(" (").append(cudaGetErrorString(status)).append(")");
}

/// The error of a call that failed: `resource_limit` when memory ran out, else `device`. The
/// runtime forgets it, where it can: a program that asks after its own launches is not told of
/// ours.
inline error failure_of(cudaError_t status, const request& asked) {
  static_cast<void>(::cudaGetLastError());
  std::string text = asked.text() + ": ";
  if (means_no_device(status)) {
    text += "no CUDA device: ";
  } else if (status == cudaErrorInvalidDevice) {
    text += "no such CUDA device: ";
  } else if (status == cudaErrorInvalidResourceHandle || status == cudaErrorContextIsDestroyed) {
    text += "the stream or event is destroyed, or belongs to another device: ";
  }
  text += describe(status);
  return {status == cudaErrorMemoryAllocation ? errc::resource_limit : errc::device,
          std::move(text)};
}

/// Whether a call succeeded; its failure is not reported. The runtime forgets that failure and
/// keeps what the program's own calls left.
inline bool succeeded(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(::cudaGetLastError());
  return status == cudaSuccess;
}

/// Success, or the error of what was asked for.
inline result<void> checked(cudaError_t status, const request& asked) {
  if (status == cudaSuccess) return {};
  return failure_of(status, asked);
}

}}}}  // namespace zarrpoint::v0::cuda::detail
