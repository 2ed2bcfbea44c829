// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Silero voice activity detector, for a whole recording at a time: is somebody speaking in
// these 32 ms? The text is the same for the host and for a GPU: `Tensor` says which.

#include <zarrpoint/checkpoint.hpp>

#include "layers.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace speech {

inline constexpr std::size_t sample_rate = 16000;
inline constexpr std::size_t window = 512;  ///< samples per step: 32 ms
inline constexpr std::size_t context = 64;  ///< samples of the window before, put in front
inline constexpr std::size_t padding = 64;  ///< samples reflected at the end
inline constexpr std::size_t framed = context + window + padding;
inline constexpr int features = 128;  ///< size of the state of the recurrent cell

/// Each window with its context in front and its end reflected: [windows, 1, framed].
inline std::vector<float> frames_of(std::span<const float> sound) {
  std::vector<float> samples(context, 0.0F);
  samples.insert(samples.end(), sound.begin(), sound.end());
  samples.resize(context + (sound.size() + window - 1) / window * window);
  std::vector<float> out;
  for (std::size_t at = 0; at + context < samples.size(); at += window) {
    const auto first = samples.begin() + static_cast<std::ptrdiff_t>(at);
    out.insert(out.end(), first, first + context + window);
    const std::size_t last = out.size() - 1;
    for (std::size_t i = 1; i <= padding; ++i) out.push_back(out[last - i]);
  }
  return out;
}

template <class Tensor>
class detector {
 public:
  using space = zarrpoint::space_of_t<Tensor>;

  /// Loads the weights to where they will be used. Throws `zarrpoint::exception`.
  detector(const zarrpoint::checkpoint& from, const zarrpoint::place<space>& where)
      : space_(where.space) {
    const auto load = [&](const std::string& name) {
      return from.load<Tensor>(name, where).value();
    };
    fourier_ = {load("stft_conv/weight"), {}, 128, 0, false};
    for (std::size_t i = 0; i < encoder_.size(); ++i) {
      const std::string name = "conv" + std::to_string(i + 1);
      const int stride = i == 1 || i == 2 ? 2 : 1;
      encoder_[i] = {load(name + "/weight"), load(name + "/bias"), stride, 1, true};
    }
    weight_ih_ = load("lstm_cell/weight_ih");
    weight_hh_ = load("lstm_cell/weight_hh");
    bias_ih_ = load("lstm_cell/bias_ih");
    bias_hh_ = load("lstm_cell/bias_hh");
    head_ = {load("final_conv/weight"), load("final_conv/bias"), 1, 0, false};
  }

  /// The probability of speech in each window of a recording.
  std::vector<float> listen(std::span<const float> sound) const {
    const std::vector<float> frames = frames_of(sound);
    const auto windows = static_cast<int>(frames.size() / framed);
    layer last{make(frames, space_), 1, static_cast<int>(framed)};
    last = convolve(fourier_, last, windows);
    last = magnitudes(last, windows);
    for (const convolution& each : encoder_) last = convolve(each, last, windows);
    last = remember(last, windows);
    last = convolve(head_, last, windows);
    std::vector<float> out = values_of(last.values);
    for (float& each : out) each = cell_step::sigmoid(each);
    return out;
  }

 private:
  struct convolution {
    Tensor weight;
    Tensor bias;
    int stride = 1;
    int pad = 0;
    bool rectify = false;
  };
  /// Activations of all windows.
  struct layer {
    Tensor values;
    int channels = 0;
    int length = 0;
  };

  /// Zeros, which the layers write over.
  layer room(int windows, int channels, int length) const {
    const std::vector<float> zeros(static_cast<std::size_t>(windows) *
                                   static_cast<std::size_t>(channels) *
                                   static_cast<std::size_t>(length));
    return {make(zeros, space_), channels, length};
  }

  layer convolve(const convolution& by, const layer& in, int windows) const {
    const auto& shape = by.weight.shape();
    const auto out_channels = static_cast<int>(shape[0]);
    const auto kernel = static_cast<int>(shape[2]);
    const int steps = (in.length + 2 * by.pad - kernel) / by.stride + 1;
    layer out = room(windows, out_channels, steps);
    for_each(space_, out.values.size(),
             convolution_step{by.weight.data(), by.bias.size() == 0 ? nullptr : by.bias.data(),
                              in.values.data(), out.values.data(), in.channels, out_channels,
                              kernel, in.length, steps, by.stride, by.pad, by.rectify});
    return out;
  }

  layer magnitudes(const layer& in, int windows) const {
    layer out = room(windows, in.channels / 2, in.length);
    for_each(space_, out.values.size(),
             magnitude_step{in.values.data(), out.values.data(), out.channels, out.length});
    return out;
  }

  /// One window after the other: each sees what the one before left.
  layer remember(const layer& in, int windows) const {
    layer seen = room(windows, features, 1);
    layer gates = room(1, 4 * features, 1);
    layer hidden = room(1, features, 1);
    layer cell = room(1, features, 1);
    for (int i = 0; i < windows; ++i) {
      const std::ptrdiff_t at = std::ptrdiff_t{i} * features;
      for_each(
          space_, gates.values.size(),
          gate_step{weight_ih_.data(), weight_hh_.data(), bias_ih_.data(), bias_hh_.data(),
                    in.values.data() + at, hidden.values.data(), gates.values.data(), features});
      for_each(space_, hidden.values.size(),
               cell_step{gates.values.data(), hidden.values.data(), cell.values.data(),
                         seen.values.data() + at, features});
    }
    return seen;
  }

  space space_;
  convolution fourier_;
  std::array<convolution, 4> encoder_;
  Tensor weight_ih_, weight_hh_, bias_ih_, bias_hh_;
  convolution head_;
};

}  // namespace speech
