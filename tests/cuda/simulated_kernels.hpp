// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels on the host: include this before a .cuh. Takes the place of <cuda_runtime.h>, whose
// launches need nvcc: a launch runs every thread of every block, one after another in any order,
// or, for kernels with barriers, the threads of a block side by side. "Device" memory is the heap,
// so that sanitizers see each step outside, and each load that is less aligned than it says.

#include <cuda_runtime_api.h>

#define __CUDA_RUNTIME_H__
#define __CUDACC_RELAXED_CONSTEXPR__
#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__

#include <zarrpoint/cuda/kernels/kernel_index.hpp>

#include "support/random_layout.hpp"

#include <sys/mman.h>

#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

inline thread_local uint3 threadIdx{};
inline thread_local uint3 blockIdx{};
inline thread_local dim3 gridDim{};

namespace zarrpoint_test {

/// What a test asks of launches, and what they did.
struct simulation {
  random_source random{1};
  bool has_barriers = false;  ///< of the kernels to come
  bool only_counts = false;   ///< launches, without running them
  cudaError_t next_error = cudaSuccess;
  cudaError_t remembered = cudaSuccess;  ///< what cudaGetLastError would say
  int launches = 0;
  int copies = 0;
  std::uint32_t blocks = 0;  ///< of the latest launch
  std::barrier<>* barrier = nullptr;
};
inline simulation simulated;

}  // namespace zarrpoint_test

inline void __syncthreads() { zarrpoint_test::simulated.barrier->arrive_and_wait(); }
inline void atomicXor(std::uint32_t* at, std::uint32_t value) {
  __atomic_fetch_xor(at, value, __ATOMIC_RELAXED);
}
inline void atomicOr(std::uint32_t* at, std::uint32_t value) {
  __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
inline void atomicAdd(std::uint32_t* at, std::uint32_t value) {
  __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
inline void atomicAdd(unsigned long long* at, unsigned long long value) {
  __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

namespace zarrpoint_test {

/// A large range of addresses without memory behind, but where it is touched.
class sparse_memory {
 public:
  explicit sparse_memory(std::size_t size) : size_(size) {
    void* const made = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) std::abort();
    data_ = static_cast<std::byte*>(made);
  }
  sparse_memory(const sparse_memory&) = delete;
  sparse_memory& operator=(const sparse_memory&) = delete;
  ~sparse_memory() { munmap(data_, size_); }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

/// Bytes that begin `shift` past an address aligned to 16, with nothing allocated behind them.
class shifted_bytes {
 public:
  shifted_bytes(random_source& random, std::size_t size, std::size_t shift)
      : bytes_(random_bytes(random, size + shift)), shift_(shift) {}
  std::byte* data() { return bytes_.data() + shift_; }
  std::vector<std::byte> copy() const {
    return {bytes_.begin() + static_cast<std::ptrdiff_t>(shift_), bytes_.end()};
  }

 private:
  std::vector<std::byte> bytes_;  // the heap aligns to 16
  std::size_t shift_;
};

template <class Run>
void run_alone(std::uint32_t blocks, Run run) {
  random_source& random = simulated.random;
  // A grid of fewer blocks must do the same in more steps.
  blocks = 1 + static_cast<std::uint32_t>(pick(random, blocks));
  gridDim = dim3(blocks);
  const auto first_block = static_cast<std::uint32_t>(pick(random, blocks));
  for (std::uint32_t b = 0; b < blocks; ++b) {
    blockIdx.x = (first_block + b) % blocks;
    const auto first = static_cast<std::uint32_t>(pick(random, 256));
    const auto step = static_cast<std::uint32_t>(1 + 2 * pick(random, 128));
    for (std::uint32_t t = 0; t < 256; ++t) {
      threadIdx.x = (first + t * step) % 256;
      run();
    }
  }
}

template <class Run>
void run_together(std::uint32_t blocks, Run run) {
  std::barrier<> barrier(256);
  simulated.barrier = &barrier;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 256; ++t) {
    threads.emplace_back([&, t] {
      gridDim = dim3(blocks);
      threadIdx.x = t;
      for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        run();
        barrier.arrive_and_wait();  // the next block has the same shared memory
      }
    });
  }
  for (std::thread& one : threads) one.join();
}

}  // namespace zarrpoint_test

// For these arguments better matches than those of the runtime.
namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* shape, void (*kernel)(Parameters...),
                               const Arguments&... arguments) {
  static_assert((sizeof(Parameters) + ...) <= 4096, "more than a kernel can be given everywhere");
  auto& simulated = zarrpoint_test::simulated;
  if (simulated.next_error != cudaSuccess) return simulated.remembered = simulated.next_error;
  const dim3 grid = shape->gridDim;
  const dim3 block = shape->blockDim;
  if (grid.x == 0 || grid.x > 0x7fffffff || grid.y != 1 || grid.z != 1 || block.x != 256 ||
      block.y != 1 || block.z != 1 || shape->dynamicSmemBytes != 0 || shape->numAttrs != 0)
    return simulated.remembered = cudaErrorInvalidConfiguration;
  ++simulated.launches;
  simulated.blocks = grid.x;
  if (simulated.only_counts) return cudaSuccess;
  const auto run = [&] { kernel(arguments...); };
  simulated.has_barriers ? zarrpoint_test::run_together(grid.x, run)
                         : zarrpoint_test::run_alone(grid.x, run);
  return cudaSuccess;
}

inline cudaError_t cudaMemcpyAsync(std::byte* to, const std::byte* from, std::size_t bytes,
                                   cudaMemcpyKind, cudaStream_t) {
  auto& simulated = zarrpoint_test::simulated;
  if (simulated.next_error != cudaSuccess) return simulated.remembered = simulated.next_error;
  ++simulated.copies;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(std::byte* to, int value, std::size_t bytes, cudaStream_t) {
  auto& simulated = zarrpoint_test::simulated;
  if (simulated.next_error != cudaSuccess) return simulated.remembered = simulated.next_error;
  std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() {
  return std::exchange(zarrpoint_test::simulated.remembered, cudaSuccess);
}

}}}  // namespace zarrpoint::v0::cuda::detail
