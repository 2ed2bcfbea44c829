// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/thrust.hpp> to save
// EXPECT: vectors of Thrust
#include <zarrpoint/handler/leaf.hpp>

#include <vector>

// As much of a thrust::device_vector as is asked for: tests/cuda/thrust_test.cu has the real one.
struct device_pointer {
  using raw_pointer = float*;
  float* get() const;
};
struct device_vector {
  using pointer = device_pointer;
  using value_type = float;
  device_pointer data() const;
  std::size_t size() const;
};

void test(const device_vector& value) {
#if defined(ZP_OK)
  zarrpoint::leaf("w", std::vector<float>(value.size()));
#else
  zarrpoint::leaf("w", value);
#endif
}
