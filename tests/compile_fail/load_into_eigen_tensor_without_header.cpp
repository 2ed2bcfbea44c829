// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/eigen.hpp> to save
// EXPECT: tensors of Eigen
#if defined(ZP_OK)
#include <zarrpoint/eigen.hpp>
#endif
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#if __has_include(<unsupported/Eigen/CXX11/Tensor>)
#include <unsupported/Eigen/CXX11/Tensor>
#else
#include <eigen3/unsupported/Eigen/CXX11/Tensor>
#endif

void test(const zarrpoint::checkpoint& from, Eigen::Tensor<float, 3>& value) {
  static_cast<void>(from.load_into("w", value));
}
