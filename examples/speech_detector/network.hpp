// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Silero voice activity detector: is somebody speaking in these 32 ms? A small network, written
// plainly; its weights are xtensors that own their memory, and spans over memory mapped from the
// checkpoint.

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xtensor.hpp>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

namespace speech {

/// Channels by time, row-major.
using signal = xt::xtensor<float, 2>;

inline constexpr std::size_t sample_rate = 16000;
inline constexpr std::size_t window = 512;    ///< samples per step: 32 ms
inline constexpr std::size_t context = 64;    ///< samples of the window before, put in front
inline constexpr std::size_t padding = 64;    ///< samples reflected at the end
inline constexpr std::size_t bands = 129;     ///< frequencies of the Fourier transform
inline constexpr std::size_t features = 128;  ///< size of the state of the recurrent cell

inline float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

inline void rectify(std::span<float> values) {
  for (float& value : values) value = std::max(value, 0.0F);
}

/// A convolution along time: weight [out, in, kernel], and a bias [out] that may be empty.
struct convolution {
  xt::xtensor<float, 3> weight;
  xt::xtensor<float, 1> bias;
  std::size_t stride = 1;
  std::size_t pad = 1;  ///< zeros assumed on either side

  signal operator()(const signal& in) const {
    const std::size_t kernel = weight.shape(2);
    const std::size_t length = in.shape(1);
    const std::size_t steps = (length + 2 * pad - kernel) / stride + 1;
    signal out(signal::shape_type{weight.shape(0), steps});
    for (std::size_t channel = 0; channel < weight.shape(0); ++channel) {
      for (std::size_t step = 0; step < steps; ++step) {
        // The part of the kernel that lies on the signal and not on the padding.
        const std::size_t start = step * stride;
        const std::size_t first = start < pad ? pad - start : 0;
        const std::size_t last = std::min(kernel, length + pad - start);
        float sum = bias.size() == 0 ? 0.0F : bias(channel);
        for (std::size_t c = 0; c < in.shape(0); ++c) {
          for (std::size_t k = first; k < last; ++k)
            sum += weight(channel, c, k) * in(c, start + k - pad);
        }
        out(channel, step) = sum;
      }
    }
    return out;
  }
};

/// A long short-term memory cell with 128 inputs and a state of 128; gates in the order input,
/// forget, cell, output.
struct lstm_cell {
  std::span<const float> weight_ih;  ///< [4 * 128, 128], row-major, borrowed
  std::span<const float> weight_hh;  ///< likewise
  xt::xtensor<float, 1> bias_ih;
  xt::xtensor<float, 1> bias_hh;

  struct state {
    std::array<float, features> hidden{};
    std::array<float, features> cell{};
  };

  void operator()(std::span<const float, features> input, state& memory) const {
    std::array<float, 4 * features> gates;
    for (std::size_t row = 0; row < gates.size(); ++row) {
      float sum = bias_ih(row) + bias_hh(row);
      for (std::size_t i = 0; i < features; ++i)
        sum += weight_ih[row * features + i] * input[i] +
               weight_hh[row * features + i] * memory.hidden[i];
      gates[row] = sum;
    }
    for (std::size_t i = 0; i < features; ++i) {
      const float in = sigmoid(gates[i]);
      const float forget = sigmoid(gates[features + i]);
      const float candidate = std::tanh(gates[2 * features + i]);
      const float out = sigmoid(gates[3 * features + i]);
      memory.cell[i] = forget * memory.cell[i] + in * candidate;
      memory.hidden[i] = out * std::tanh(memory.cell[i]);
    }
  }
};

/// The network, and what it remembers of the sound so far.
class detector {
 public:
  struct weights {
    convolution fourier;  ///< real and imaginary parts of a short-time transform
    std::array<convolution, 4> encoder;
    lstm_cell recurrent;
    convolution head;
  };

  explicit detector(weights trained) : weights_(std::move(trained)) {}

  /// The probability of speech in the next 512 samples, from -1 to 1.
  float listen(std::span<const float, window> samples) {
    signal layer = magnitudes(weights_.fourier(frame(samples)));
    for (const convolution& block : weights_.encoder) {
      layer = block(layer);
      rectify({layer.data(), layer.size()});
    }
    weights_.recurrent(std::span<const float, features>(layer.data(), features), memory_);

    signal hidden(signal::shape_type{features, 1});
    std::copy(memory_.hidden.begin(), memory_.hidden.end(), hidden.begin());
    rectify({hidden.data(), hidden.size()});
    return sigmoid(weights_.head(hidden)(0, 0));
  }

 private:
  /// The window with its context in front and its end reflected.
  signal frame(std::span<const float, window> samples) {
    signal framed(signal::shape_type{1, context + window + padding});
    auto out = std::copy(context_.begin(), context_.end(), framed.begin());
    out = std::copy(samples.begin(), samples.end(), out);
    std::copy_n(samples.rbegin() + 1, padding, out);
    std::copy(samples.end() - context, samples.end(), context_.begin());
    return framed;
  }

  static signal magnitudes(const signal& transform) {
    signal out(signal::shape_type{bands, transform.shape(1)});
    for (std::size_t band = 0; band < bands; ++band) {
      for (std::size_t t = 0; t < transform.shape(1); ++t)
        out(band, t) = std::hypot(transform(band, t), transform(band + bands, t));
    }
    return out;
  }

  weights weights_;
  lstm_cell::state memory_;
  std::array<float, context> context_{};
};

}  // namespace speech
