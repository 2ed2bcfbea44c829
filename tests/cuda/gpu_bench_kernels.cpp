// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What bench/gpu_bench.cpp is linked with to be run on fake devices: it works, and measures
// nothing.

#include "../../bench/gpu_kernels.hpp"
#include "cuda/fake_runtime.hpp"

namespace bench {

const zarrpoint::cuda::kernel_table* gpu_kernels() {
  zarrpoint_test::restart_fake_runtime({.capacity = std::size_t{256} << 20});
  return zarrpoint_test::fake_kernels();
}
const char* gpu_note() { return "; fake runtime, not a measurement"; }

}  // namespace bench
