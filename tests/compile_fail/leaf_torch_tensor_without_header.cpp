// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/libtorch.hpp> to save
// EXPECT: before the first use
#include <zarrpoint/handler/leaf.hpp>

#include <vector>

// As much of a torch::Tensor as is asked for: tests/interop/libtorch_test.cpp has the real one.
struct tensor {
  int scalar_type() const;
  std::vector<std::int64_t> sizes() const;
  bool is_sparse() const;
};

void test(const tensor& value) {
#if defined(ZP_OK)
  zarrpoint::leaf("w", value.sizes());
#else
  zarrpoint::leaf("w", value);
#endif
}
