// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// DLPack tensors in the memory of CUDA devices. Pinned memory of the host is the host's:
// `dlpack::tensor` takes it.

#include <zarrpoint/cuda/runtime/current_device.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/interop/dlpack/dlpack_export.hpp>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

/// Memory of the device, and managed memory, which every device reaches.
template <>
struct device_traits<cuda::device_space> {
  using space = cuda::device_space;

  static device_id id(const space& where) {
    return {static_cast<std::int32_t>(device_kind::cuda), where.device()};
  }
  static bool holds(const space& where, const device_id& device) {
    const auto kind = static_cast<device_kind>(device.device_type);
    return kind == device_kind::cuda_managed ||
           (kind == device_kind::cuda && device.device_id == where.device());
  }
  static result<void> settle(const space& where) {
    return cuda::detail::on_device({where.device(), "wait for the device"},
                                   [] { return cudaDeviceSynchronize(); });
  }

  /// As the array API standard counts: 1 is the legacy default stream, 2 that of each thread,
  /// others are handles.
  static std::int64_t stream_number(const space& where) {
    return where.stream() == nullptr ? 1 : reinterpret_cast<std::intptr_t>(where.stream());
  }
  /// Errors: `invalid_argument` for 0, which is two streams, and what is below.
  static result<std::optional<space>> on_stream(const space& where, std::int64_t number) {
    if (number <= 0)
      return error{errc::invalid_argument, "there is no CUDA stream " + std::to_string(number) +
                                               ": the legacy default stream is 1"};
    if (number == 2) return std::optional<space>();
    cudaStream_t handle = nullptr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): Python hands over handles as numbers
    if (number != 1) handle = reinterpret_cast<cudaStream_t>(static_cast<std::intptr_t>(number));
    return std::optional<space>(space(where.device(), handle, where.kernels()));
  }
};

/// A tensor of another library on a CUDA device, by way of the stream of its space.
using cuda_tensor = basic_tensor<cuda::device_space>;

}}}  // namespace zarrpoint::v0::dlpack
