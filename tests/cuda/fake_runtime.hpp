// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_table.hpp>

#include "support/fake_device.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// A CUDA runtime of fake devices (support/fake_device.hpp): fake_runtime.cpp defines the functions
// of the runtime that the library calls, so that a test is linked with it instead of libcudart.

namespace zarrpoint_test {

struct fake_runtime_options {
  std::uint64_t seed = 1;
  int devices = 2;
  bool has_pools = true;                         ///< else cudaMallocAsync is not supported
  bool makes_pools = true;                       ///< else there is only the default one
  std::size_t default_keeps = 0;                 ///< bytes that only the default pool can hand out
  bool tells_contexts = true;                    ///< else the driver does not say which there are
  cudaError_t absent = cudaSuccess;              ///< what every call says when there is no device
  std::size_t capacity = std::size_t{64} << 20;  ///< of each device
};

/// Begins anew with devices that nothing is known of; handles and addresses of before mean nothing.
/// Nothing may be alive. Without it there are the devices of the default options.
void restart_fake_runtime(const fake_runtime_options& options = {});

/// One of its devices, to count and to order faults.
fake_device& fake_cuda_device(int device = 0);

/// What the runtime handed out and did not get back.
struct fake_runtime_counts {
  std::size_t events = 0;
  std::size_t pools = 0;
  std::size_t streams = 0;
  std::size_t pinned = 0;
  std::size_t allocations = 0;  ///< on all devices
  std::size_t operations = 0;   ///< due on all devices
  bool nothing() const { return events + pools + streams + pinned + allocations + operations == 0; }
};
fake_runtime_counts fake_runtime_alive();

/// What the runtime was asked for since it began.
struct fake_runtime_totals {
  std::size_t events = 0;      ///< made
  std::size_t pools = 0;       ///< made
  std::size_t pooled = 0;      ///< allocations from one that was made
  std::size_t reused = 0;      ///< of them those that had room in what the pool kept
  std::size_t kept_most = 0;   ///< the most bytes that pools kept at a time
  std::size_t set_device = 0;  ///< calls of cudaSetDevice
};
fake_runtime_totals fake_runtime_asked();

/// Whether anything made the device a context since the runtime began.
bool fake_context(int device);

/// Makes the events of a device unknown, as a reset of it does: they cannot be recorded any more.
void forget_fake_events(int device);

/// The kernels of the fake devices.
const zarrpoint::cuda::kernel_table* fake_kernels();

}  // namespace zarrpoint_test
