// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/eigen.hpp> to save
// EXPECT: before the first use
#if defined(ZP_OK)
#include <zarrpoint/eigen.hpp>
#endif
#include <zarrpoint/handler/leaf.hpp>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#else
#include <eigen3/Eigen/Core>
#endif

void test() {
  const Eigen::MatrixXf value(2, 3);
  zarrpoint::leaf("w", value);
}
