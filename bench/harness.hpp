// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the benchmarks share: rounds in which ours and the floor take turns, and the median of their
// ratios. A ratio within a round is steadier than any absolute figure on a shared machine.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace bench {

/// Ends the program with the words of the system.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

inline constexpr unsigned threads = 2;

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// Seconds that `work` takes.
inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Pieces of 1 MiB of new memory are filled in rows of so many: two threads that first touch the
/// same huge page each clear a page, and one of these is wasted.
inline constexpr std::size_t side_by_side = 4;

/// Runs `work(thread, i)` for all of [0, n) by the threads, which take turns by `row` of them.
inline void run_threads(std::size_t n, const std::function<void(unsigned, std::size_t)>& work,
                        std::size_t row = 1) {
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      for (std::size_t first = t * row; first < n; first += threads * row) {
        for (std::size_t i = first; i < std::min(n, first + row); ++i) work(t, i);
      }
    });
  }
  for (std::thread& one : crew) one.join();
}

struct measured {
  std::string name;
  double bytes;  ///< that both sides move; 0: compare times only
  std::function<void()> before;
  std::function<void()> ours;
  std::function<void()> floor;
};

/// Prints one row: median rate of each side, and the median, least and greatest ratio floor / ours
/// in time (1.0: as fast as the floor; above: faster).
inline void compare(const measured& what, int rounds) {
  std::vector<double> ours;
  std::vector<double> floors;
  std::vector<double> ratios;
  for (int round = -1; round < rounds; ++round) {
    double a = 0;
    double b = 0;
    const auto run_ours = [&] {
      if (what.before) what.before();
      a = seconds_of(what.ours);
    };
    const auto run_floor = [&] {
      if (what.before) what.before();
      b = seconds_of(what.floor);
    };
    if (round % 2 == 0) {
      run_ours();
      run_floor();
    } else {
      run_floor();
      run_ours();
    }
    if (round < 0) continue;  // a warm-up
    ours.push_back(a);
    floors.push_back(b);
    ratios.push_back(b / a);
  }
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  const double t = median(ours);
  const double f = median(floors);
  if (what.bytes > 0) {
    std::printf("| %-44s | %7.2f GB/s | %7.2f GB/s | %5.2f | %.2f-%.2f |\n", what.name.c_str(),
                what.bytes / t / 1e9, what.bytes / f / 1e9, median(ratios), *low, *high);
  } else {
    std::printf("| %-44s | %9.2f ms | %9.2f ms | %5.2f | %.2f-%.2f |\n", what.name.c_str(), t * 1e3,
                f * 1e3, median(ratios), *low, *high);
  }
  std::fflush(stdout);
}

/// One row of weights: Gaussians with a scale per row, so that the exponents have the entropy that
/// trained weights have (2.8 bits) and the mantissas are noise.
inline void weights_of_row(std::size_t row, std::size_t columns, float* out) {
  std::mt19937_64 random(row);
  std::uniform_real_distribution<float> scales(0.01F, 0.06F);
  std::normal_distribution<float> normal(0.0F, scales(random));
  for (std::size_t i = 0; i < columns; ++i) out[i] = normal(random);
}

/// The same of many rows, as bfloat16.
inline std::vector<std::uint16_t> weights(std::size_t rows, std::size_t columns) {
  std::vector<std::uint16_t> out(rows * columns);
  run_threads(rows, [&](unsigned, std::size_t row) {
    std::vector<float> values(columns);
    weights_of_row(row, columns, values.data());
    for (std::size_t i = 0; i < columns; ++i) {
      std::uint32_t bits = 0;
      __builtin_memcpy(&bits, &values[i], sizeof bits);
      out[row * columns + i] =
          static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
  });
  return out;
}

}  // namespace bench
