// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two types of tensors that the detector runs on, and the few things for which it must know
// which.

#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/memory/memory_space.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace speech {

/// A dense tensor on the host. The library takes it by its members, as it takes xtensor's.
class host_tensor {
 public:
  using value_type = float;

  const std::vector<std::size_t>& shape() const { return shape_; }
  std::size_t size() const { return values_.size(); }
  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }
  void resize(const std::vector<std::size_t>& shape) {
    shape_ = shape;
    values_.resize(std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                                   [](std::size_t a, std::size_t b) { return a * b; }));
  }

 private:
  std::vector<std::size_t> shape_ = {0};
  std::vector<float> values_;
};

using device_tensor = zarrpoint::cuda::tensor<float>;

inline host_tensor make(std::span<const float> values, const zarrpoint::host_space&) {
  host_tensor out;
  out.resize({values.size()});
  std::copy(values.begin(), values.end(), out.data());
  return out;
}
inline device_tensor make(std::span<const float> values,
                          const zarrpoint::cuda::device_space& space) {
  return device_tensor::from_host(values, {static_cast<zarrpoint::index_t>(values.size())}, space)
      .value();
}

inline std::vector<float> values_of(const host_tensor& tensor) {
  return {tensor.data(), tensor.data() + tensor.size()};
}
/// Waits for the device.
inline std::vector<float> values_of(const device_tensor& tensor) {
  return tensor.download().value();
}

}  // namespace speech
