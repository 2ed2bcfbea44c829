// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A program of docs/handlers.md: matrices of Eigen.

#include <zarrpoint/eigen.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <Eigen/Dense>

namespace zp = zarrpoint;

int main() {
  const Eigen::MatrixXf w = Eigen::MatrixXf::Random(3, 4);
  zp::save("eigen.zarr", {{"w", w}}).value();
  const auto back = zp::open("eigen.zarr").value().load<Eigen::MatrixXf>("w").value();
  return back == w ? 0 : 1;
}
