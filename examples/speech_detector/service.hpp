// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The network at work: its weights from a checkpoint, a recording, and where somebody speaks in it.

#include "network.hpp"
#include "terminal.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace speech {

inline constexpr double seconds_per_window =
    static_cast<double>(window) / static_cast<double>(sample_rate);

/// From a loader of tensors by name: `tensor<Rank>(name)` gives an xtensor, and `mapped(name)`
/// elements that live as long as the loader.
template <class Loader>
detector::weights load_weights(Loader& from) {
  const auto block = [&](const std::string& name, std::size_t stride, std::size_t pad) {
    return convolution{from.template tensor<3>(name + "/weight"),
                       from.template tensor<1>(name + "/bias"), stride, pad};
  };
  return {
      .fourier = {from.template tensor<3>("stft_conv/weight"), {}, 128, 0},
      .encoder = {block("conv1", 1, 1), block("conv2", 2, 1), block("conv3", 2, 1),
                  block("conv4", 1, 1)},
      .recurrent = {from.mapped("lstm_cell/weight_ih"), from.mapped("lstm_cell/weight_hh"),
                    from.template tensor<1>("lstm_cell/bias_ih"),
                    from.template tensor<1>("lstm_cell/bias_hh")},
      .head = block("final_conv", 1, 0),
  };
}

/// The probability of speech in each window of `samples`; the last one is filled up with silence.
inline std::vector<float> listen(detector& service, std::vector<float> samples) {
  const std::size_t windows = (samples.size() + window - 1) / window;
  samples.resize(windows * window);
  std::vector<float> probabilities;
  for (std::size_t i = 0; i < windows; ++i) {
    const std::span<const float, window> part(samples.data() + i * window, window);
    probabilities.push_back(service.listen(part));
  }
  return probabilities;
}

/// "0.6-2.2 s, 2.4-4.0 s": where the probability is above one half.
inline std::string spoken(std::span<const float> probabilities) {
  std::string text;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] < 0.5F) continue;
    const std::size_t first = i;
    while (i < probabilities.size() && probabilities[i] >= 0.5F) ++i;
    text += (text.empty() ? "" : ", ") + fixed(static_cast<double>(first) * seconds_per_window, 1) +
            "-" + fixed(static_cast<double>(i) * seconds_per_window, 1) + " s";
  }
  return text.empty() ? "nowhere" : text;
}

/// The probabilities that the network must give. Throws when the file does not say.
inline std::vector<double> read_expected(const std::string& path) {
  try {
    return nlohmann::json::parse(std::ifstream(path)).at("probability").get<std::vector<double>>();
  } catch (const nlohmann::json::exception& failure) {
    throw std::runtime_error(path + ": " + failure.what());
  }
}

/// The largest difference between what was heard and what is expected; infinite when they are not
/// as many, or one is not a number.
inline double largest_difference(const std::vector<float>& heard,
                                 const std::vector<double>& expected) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (heard.size() != expected.size()) return infinity;
  double largest = 0;
  for (std::size_t i = 0; i < heard.size(); ++i) {
    const double difference = std::abs(expected[i] - static_cast<double>(heard[i]));
    if (std::isnan(difference)) return infinity;
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace speech
