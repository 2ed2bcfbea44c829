// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The step of the loop that `stall_bench` and `peers.py` time: the same code for all of them.

extern "C" double bench_step(float* values, long count, long rounds) {
  double sum = 0;
  for (long round = 0; round < rounds; ++round) {
    float part = 0;
    for (long i = 0; i < count; ++i) {
      values[i] = values[i] * 0.999F + 0.001F;
      part += values[i];
    }
    sum += static_cast<double>(part);
  }
  return sum;
}
