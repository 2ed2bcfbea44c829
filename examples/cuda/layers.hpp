// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The layers of the speech detector, each as what it does for one number of its result: on the host
// in a loop, on a GPU in as many threads. Tensors of activations are [window, channel, time],
// dense.

#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/memory/memory_space.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>

namespace speech {

/// A convolution along time: weight [out, in, kernel], bias [out] or null.
struct convolution_step {
  const float* weight;
  const float* bias;
  const float* in;
  float* out;
  int in_channels, out_channels, kernel, length, steps;
  int stride = 1;
  int pad = 1;           ///< zeros assumed on either side
  bool rectify = false;  ///< negative results become zero

  __host__ __device__ void operator()(std::size_t i) const {
    const auto n = static_cast<int>(i);
    const int step = n % steps;
    const int channel = n / steps % out_channels;
    const int window = n / steps / out_channels;
    const float* const from = in + static_cast<std::ptrdiff_t>(window) * in_channels * length;
    const float* const by = weight + static_cast<std::ptrdiff_t>(channel) * in_channels * kernel;
    float sum = bias == nullptr ? 0.0F : bias[channel];
    for (int c = 0; c < in_channels; ++c) {
      for (int k = 0; k < kernel; ++k) {
        const int t = step * stride + k - pad;
        if (t >= 0 && t < length) sum += by[c * kernel + k] * from[c * length + t];
      }
    }
    out[i] = rectify && sum < 0.0F ? 0.0F : sum;
  }
};

/// The magnitudes of a Fourier transform whose first half of channels is real, the second
/// imaginary.
struct magnitude_step {
  const float* in;
  float* out;
  int bands, steps;

  __host__ __device__ void operator()(std::size_t i) const {
    const auto n = static_cast<int>(i);
    const int per_window = bands * steps;
    const float* const real =
        in + static_cast<std::ptrdiff_t>(n / per_window) * 2 * per_window + n % per_window;
    out[i] = hypotf(real[0], real[per_window]);
  }
};

/// One gate of a long short-term memory cell: [4 * size] in the order input, forget, cell, output.
struct gate_step {
  const float* weight_ih;
  const float* weight_hh;
  const float* bias_ih;
  const float* bias_hh;
  const float* in;      ///< [size]
  const float* hidden;  ///< [size]
  float* gates;
  int size;

  __host__ __device__ void operator()(std::size_t i) const {
    const float* const by_in = weight_ih + i * static_cast<std::size_t>(size);
    const float* const by_hidden = weight_hh + i * static_cast<std::size_t>(size);
    float sum = bias_ih[i] + bias_hh[i];
    for (int k = 0; k < size; ++k) sum += by_in[k] * in[k] + by_hidden[k] * hidden[k];
    gates[i] = sum;
  }
};

/// What the cell remembers, and what of it the last layer sees.
struct cell_step {
  const float* gates;
  float* hidden;
  float* cell;
  float* seen;  ///< rectified
  int size;

  __host__ __device__ static float sigmoid(float x) { return 1.0F / (1.0F + expf(-x)); }
  __host__ __device__ void operator()(std::size_t i) const {
    const auto gate = [this, i](int which) {
      return gates[static_cast<std::size_t>(which) * static_cast<std::size_t>(size) + i];
    };
    cell[i] = sigmoid(gate(1)) * cell[i] + sigmoid(gate(0)) * tanhf(gate(2));
    hidden[i] = sigmoid(gate(3)) * tanhf(cell[i]);
    seen[i] = hidden[i] < 0.0F ? 0.0F : hidden[i];
  }
};

/// Calls `step(i)` for each `i < count`: on the host, now.
template <class Step>
void for_each(const zarrpoint::host_space&, std::size_t count, const Step& step) {
  for (std::size_t i = 0; i < count; ++i) step(i);
}

/// The same on a GPU, in the order of the space's stream: see layers.cu, which has it for the steps
/// above. Throws `std::runtime_error`.
template <class Step>
void for_each(const zarrpoint::cuda::device_space& space, std::size_t count, const Step& step);

/// The library's own kernels, which rearrange elements on the device.
const zarrpoint::cuda::kernel_table& library_kernels();

}  // namespace speech
