// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// From a trained network to a running service: reads the weights of a speech detector from a
// safetensors file, saves them as a sharded, compressed Zarr checkpoint, loads that checkpoint into
// xtensors and mapped views, listens to a recording and draws when somebody speaks.
//
//   speech_detector [data folder] [checkpoint]

#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "speech_detector/service.hpp"
#include "speech_detector/terminal.hpp"
#include "speech_detector/wave.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

namespace {

class stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "conv1.weight" in the safetensors file is "conv1/weight" in the checkpoint.
std::string nested(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return name;
}

/// Saves the tensors of a safetensors file, straight from where they are mapped, as a checkpoint.
zp::save_report convert(const std::string& weights, const std::string& checkpoint) {
  const auto file = zp::safetensors::open(weights).value();
  std::vector<zp::leaf> leaves;
  for (const auto& tensor : file.tensors())
    leaves.emplace_back(nested(tensor.name), file.view(tensor.name).value());

  // Everything compressed in chunks of 64 KiB, but the two large matrices of the recurrent cell as
  // they are, so that they can be used where they lie in the file.
  const zp::save_options options{
      .rules = {{.chunk_byte_size = 64 * 1024, .codecs = zp::zstd_codecs(3)},
                {.glob = "lstm_cell/weight_*",
                 .chunk_byte_size = 1024 * 1024,
                 .codecs = zp::raw_codecs()}}};
  speech::progress_bar bar;
  zp::context how = zp::default_context();
  how.progress = [&bar](const zp::progress_event& event) {
    bar.draw("saving",
             static_cast<double>(event.bytes_done) / static_cast<double>(event.bytes_total),
             event.item);
  };
  return zp::save(checkpoint, leaves, options, how).value();
}

/// Loads tensors by name, and remembers how long each took and where it is now.
class loader {
 public:
  struct record {
    double seconds;
    std::string place;
  };

  explicit loader(const std::string& path) : checkpoint_(zp::open(path).value()) {}

  template <std::size_t Rank>
  xt::xtensor<float, Rank> tensor(const std::string& name) {
    const stopwatch time;
    auto loaded = checkpoint_.load<xt::xtensor<float, Rank>>(name).value();
    note(name, time, "xtensor");
    return loaded;
  }

  /// The elements where they lie in the checkpoint, valid as long as this loader.
  std::span<const float> mapped(const std::string& name) {
    const stopwatch time;
    views_.push_back(checkpoint_.view<float>(name).value());
    note(name, time, views_.back().is_zero_copy() ? "mapped" : "copied");
    return views_.back().elements();
  }

  const std::map<std::string, record>& records() const { return records_; }

 private:
  void note(const std::string& name, const stopwatch& time, std::string place) {
    records_.insert_or_assign(name, record{time.seconds(), std::move(place)});
    bar_.draw("loading",
              static_cast<double>(records_.size()) / static_cast<double>(checkpoint_.size()), name);
  }

  zp::checkpoint checkpoint_;
  std::vector<zp::mapped_tensor<float>> views_;
  std::map<std::string, record> records_;
  speech::progress_bar bar_;
};

std::string milliseconds(double seconds) { return speech::fixed(seconds * 1000, 2) + " ms"; }

std::string ratio(std::uint64_t stored, std::uint64_t bytes) {
  return speech::fixed(100 * static_cast<double>(stored) / static_cast<double>(bytes), 1) + " %";
}

void print_table(const zp::save_report& saved, const loader& loaded) {
  speech::table table(
      {"tensor", "dtype", "shape", "in memory", "stored", "ratio", "save", "load", "place"});
  double load_seconds = 0;
  for (const zp::leaf_report& leaf : saved.leaves) {
    const loader::record& record = loaded.records().at(leaf.name);
    load_seconds += record.seconds;
    table.add({leaf.name, std::string(to_string(leaf.stored.type)), to_string(leaf.stored.shape),
               speech::byte_text(leaf.bytes), speech::byte_text(leaf.stored_bytes),
               ratio(leaf.stored_bytes, leaf.bytes), milliseconds(leaf.seconds),
               milliseconds(record.seconds), record.place});
  }
  table.add({std::to_string(saved.leaves.size()) + " tensors", "", "",
             speech::byte_text(saved.bytes), speech::byte_text(saved.stored_bytes),
             ratio(saved.stored_bytes, saved.bytes), milliseconds(saved.seconds),
             milliseconds(load_seconds), ""});
  table.print();
}

bool run(const std::string& data, const std::string& path) {
  const zp::save_report saved = convert(data + "/silero_vad_16k.safetensors", path);
  loader source(path);
  speech::detector service(speech::load_weights(source));
  std::printf("%s\n\n", speech::painted(path, speech::paint::bold).c_str());
  print_table(saved, source);

  const std::vector<float> sound = speech::read_wave(data + "/speech.wav", speech::sample_rate);
  const double length =
      static_cast<double>(sound.size()) / static_cast<double>(speech::sample_rate);
  const stopwatch time;
  const std::vector<float> probabilities = speech::listen(service, sound);
  std::printf("\nProbability of speech in speech.wav: %.1f s of sound, heard in %.2f s\n\n", length,
              time.seconds());
  speech::plot(probabilities,
               static_cast<double>(probabilities.size()) * speech::seconds_per_window);
  std::printf("\nSpeech at %s\n\n", speech::spoken(probabilities).c_str());

  constexpr double tolerance = 1e-4;
  const double difference =
      speech::largest_difference(probabilities, speech::read_expected(data + "/expected.json"));
  const bool agrees = difference <= tolerance;
  std::printf(
      "%s: %zu probabilities, the largest difference from expected.json is %.1e (allowed %.0e)\n",
      agrees ? speech::painted("OK", speech::paint::green).c_str()
             : speech::painted("FAILED", speech::paint::red).c_str(),
      probabilities.size(), difference, tolerance);
  return agrees;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string data = argc > 1 ? argv[1] : "examples/data/silero-vad";
    const std::string checkpoint = argc > 2 ? argv[2] : "speech_detector.zarr";
    return run(data, checkpoint) ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "speech_detector: %s\n", failure.what());
    return 1;
  }
}
