// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The speech detector on a GPU: saves a trained network as a checkpoint, loads that to where the
// network will run, and listens to a recording. Where there is no GPU it says so, and the same
// program text runs on the host.
//
//   speech_detector [data folder] [checkpoint]

#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/cuda.hpp>
#include <zarrpoint/safetensors.hpp>

#include "../speech_detector/wave.hpp"
#include "detector.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// Saves the tensors of a safetensors file as a checkpoint: "conv1.weight" as "conv1/weight".
void convert(const std::string& weights, const std::string& checkpoint) {
  const auto file = zp::safetensors::open(weights).value();
  std::vector<zp::leaf> leaves;
  for (const auto& tensor : file.tensors()) {
    std::string name = tensor.name;
    std::replace(name.begin(), name.end(), '.', '/');
    leaves.emplace_back(name, file.view(tensor.name).value());
  }
  const zp::save_options options{
      .rules = {{.chunk_byte_size = 64 * 1024, .codecs = zp::blosc_codecs()}}};
  zp::save(checkpoint, leaves, options).value();
}

/// The probabilities that a network on `where` gives; says how long it took.
template <class Tensor>
std::vector<float> listen(const zp::checkpoint& from,
                          const zp::place<zp::space_of_t<Tensor>>& where,
                          std::span<const float> sound) {
  using clock = std::chrono::steady_clock;
  const auto milliseconds = [](clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  const auto began = clock::now();
  const speech::detector<Tensor> service(from, where);
  const auto loaded = clock::now();
  std::vector<float> out = service.listen(sound);
  const auto heard = clock::now();
  std::printf("loaded in %.1f ms, heard %.1f s of sound in %.1f ms\n", milliseconds(loaded - began),
              static_cast<double>(sound.size()) / static_cast<double>(speech::sample_rate),
              milliseconds(heard - loaded));
  return out;
}

/// The same program text for both: only the type of the tensors and their place differ.
std::vector<float> listen_anywhere(const zp::checkpoint& from, std::span<const float> sound) {
  const zp::result<int> gpus = zp::cuda::device_count();
  if (!gpus) {
    std::printf("on the host, since %s\n", gpus.failure().message.c_str());
    return listen<speech::host_tensor>(from, {}, sound);
  }
  std::printf("on the first of %d GPUs\n", *gpus);
  const zp::cuda::stream stream = zp::cuda::stream::make().value();
  return listen<speech::device_tensor>(from, {.space = stream.space(&speech::library_kernels())},
                                       sound);
}

bool run(const std::string& data, const std::string& path) {
  convert(data + "/silero_vad_16k.safetensors", path);
  const std::vector<float> sound = speech::read_wave(data + "/speech.wav", speech::sample_rate);
  const std::vector<float> heard = listen_anywhere(zp::open(path).value(), sound);

  const auto expected = nlohmann::json::parse(std::ifstream(data + "/expected.json"))
                            .at("probability")
                            .get<std::vector<double>>();
  double difference =
      heard.size() == expected.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(heard.size(), expected.size()); ++i) {
    const double here = std::abs(expected[i] - static_cast<double>(heard[i]));
    difference = here <= difference ? difference : here;  // NaN is taken, too
  }
  constexpr double tolerance = 1e-4;
  const bool agrees = difference <= tolerance;
  std::printf(
      "%s: %zu probabilities, the largest difference from expected.json is %.1e (allowed %.0e)\n",
      agrees ? "OK" : "FAILED", heard.size(), difference, tolerance);
  return agrees;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string data = argc > 1 ? argv[1] : "examples/data/silero-vad";
    const std::string checkpoint = argc > 2 ? argv[2] : "speech_detector_cuda.zarr";
    return run(data, checkpoint) ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "speech_detector: %s\n", failure.what());
    return 1;
  }
}
