// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Deltas of 16-bit weights: size beside the entropy of places and values, and seconds beside those
// of a copy, by two threads. The floor of a save is a crc32c of the base and one of the result,
// that of a change in place two of the tensor: each is verified before and after.
//
//   delta_bench FOLDER [MIB]     64 MiB by default; what is written to FOLDER stays, for peers:
//   bash bench/delta_peers.sh    builds it, and runs both

#include <zarrpoint/delta.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "harness.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

namespace zp = zarrpoint;
using bench::median;
using bench::seconds_of;

namespace {

using words = std::vector<std::uint16_t>;

/// The bits of bfloat16 numbers of a Gaussian of 0.02.
words weights(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> gaussian(0, 0.02F);
  words out(count);
  for (std::uint16_t& one : out) {
    const float value = gaussian(random);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    one = static_cast<std::uint16_t>(bits >> 16);
  }
  return out;
}

/// Moves a share of them by 1 or 2 units, 4 : 1.
words moved(words of, double share) {
  std::mt19937 random(2);
  std::uniform_real_distribution<> any;
  for (std::uint16_t& one : of) {
    if (any(random) >= share) continue;
    const int step = any(random) < 0.2 ? 2 : 1;
    one = static_cast<std::uint16_t>(one + (any(random) < 0.5 ? step : -step));
  }
  return of;
}

double bound_of(double p) {
  const double places = -p * std::log2(p) - (1 - p) * std::log2(1 - p);
  return (places + p * (1 - 0.8 * std::log2(0.8) - 0.2 * std::log2(0.2))) / 16;
}

std::uintmax_t bytes_of(const std::string& folder) {
  std::uintmax_t out = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) out += entry.file_size();
  return out;
}

void write(const std::string& path, const words& of) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(of.data()), static_cast<std::streamsize>(2 * of.size()));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::fputs("delta_bench FOLDER [MIB]\n", stderr), 2;
  const std::string folder = arguments[1];
  const std::size_t bytes = (count > 2 ? std::stoul(arguments[2]) : 64) << 20;
  const words before = weights(bytes / 2);
  const std::string base = folder + "/base", delta = folder + "/delta";
  zp::save(base, {{"w", before}}, {.sync = false}).value();
  write(folder + "/before.bin", before);
  std::puts(
      "changed   size  of bound   save GB/s  open and load GB/s  in place GB/s  copy GB/s  floor "
      "GB/s");
  for (const double share : {0.001, 0.01, 0.05, 0.2}) {
    const words after = moved(before, share);
    std::vector<double> save, load, apply, copy, floor;
    words target(before.size());
    for (int round = 0; round < 5; ++round) {
      copy.push_back(seconds_of([&] {
        bench::run_threads(
            bytes >> 20,
            [&](unsigned, std::size_t i) {
              std::memcpy(target.data() + (i << 19), before.data() + (i << 19), 1 << 20);
            },
            bench::side_by_side);
      }));
      floor.push_back(seconds_of([&] {
        std::atomic<std::uint32_t> all{0};
        for (const words* of : {&before, &after}) {
          bench::run_threads(bytes >> 20, [&](unsigned, std::size_t i) {
            const std::span<const std::uint16_t> part(of->data() + (i << 19), 1 << 19);
            all ^= zp::crc32c(std::as_bytes(part));
          });
        }
      }));
      save.push_back(seconds_of([&] {
        zp::save_delta(delta, base, {{"w", after}}, {.sync = false}).value();
      }));
      apply.push_back(seconds_of([&] { zp::apply_delta(delta, {{"w", target}}).value(); }));
      bench::require(target == after, "what was applied is another");
      load.push_back(
          seconds_of([&] { zp::open_delta(delta).value().load_into("w", target).value(); }));
      bench::require(target == after, "what was loaded is another");
    }
    const auto rate = [&](const std::vector<double>& of) {
      return static_cast<double>(bytes) / median(of) * 1e-9;
    };
    const double size = static_cast<double>(bytes_of(delta)) / static_cast<double>(bytes);
    std::printf("%5.1f %%  %5.2f %%  %7.2f  %10.1f  %18.1f  %13.1f  %9.1f  %10.1f\n", 100 * share,
                100 * size, size / bound_of(share), rate(save), rate(load), rate(apply), rate(copy),
                rate(floor));
    write(folder + "/after_" + std::to_string(static_cast<int>(1000 * share)) + ".bin", after);
  }
}
