// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/fake_runtime.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

namespace zarrpoint_test {

/// Fresh fake devices for a test, which must leave nothing behind on them.
struct fresh_devices {
  explicit fresh_devices(const fake_runtime_options& options = {}) {
    restart_fake_runtime(options);
  }
  fresh_devices(const fresh_devices&) = delete;
  fresh_devices& operator=(const fresh_devices&) = delete;
  ~fresh_devices() {
    for (int i = 0; i < 2; ++i) fake_cuda_device(i).recover();
    cudaDeviceSynchronize();  // what was given back on a stream is gone when the stream has run
    const fake_runtime_counts left = fake_runtime_alive();
    CHECK(left.events == 0);
    CHECK(left.pools == 0);
    CHECK(left.streams == 0);
    CHECK(left.pinned == 0);
    CHECK(left.allocations == 0);
    CHECK(left.operations == 0);
    CHECK(cudaGetLastError() == cudaSuccess);
  }
};

template <class T>
std::vector<T> counted_from(T first, std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace zarrpoint_test
