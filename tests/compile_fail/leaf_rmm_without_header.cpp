// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/rmm.hpp> to save
// EXPECT: containers of RMM
#include <zarrpoint/handler/leaf.hpp>

#include <vector>

// As much of an rmm::device_uvector as is asked for: tests/cuda/rmm_test.cpp has more.
struct stream_view {
  void* value() const;
};
struct device_vector {
  stream_view stream() const;
  void* memory_resource() const;
  std::size_t size() const;
};

void test(const device_vector& value) {
#if defined(ZP_OK)
  zarrpoint::leaf("w", std::vector<float>(value.size()));
#else
  zarrpoint::leaf("w", value);
#endif
}
