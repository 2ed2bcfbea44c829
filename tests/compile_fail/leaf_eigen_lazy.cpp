// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this expression of Eigen is lazy
// EXPECT: .eval()
#include <zarrpoint/eigen.hpp>
#include <zarrpoint/handler/leaf.hpp>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#else
#include <eigen3/Eigen/Core>
#endif

void test() {
  const Eigen::MatrixXf a(2, 3);
#if defined(ZP_OK)
  zarrpoint::leaf("w", (a + a).eval());
#else
  zarrpoint::leaf("w", a + a);
#endif
}
