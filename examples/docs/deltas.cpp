// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The program of docs/deltas.md.

#include <zarrpoint/delta.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdint>
#include <vector>

namespace zp = zarrpoint;

int main() {
  std::vector<std::uint16_t> w(1 << 20);  // bfloat16 bits
  zp::save("step_1.zarr", {{"w", w}}).value();
  w[7] += 1;
  zp::save_delta("step_2.delta", "step_1.zarr", {{"w", w}}).value();

  auto step_2 = zp::open_delta("step_2.delta").value();  // finds its base beside it
  auto loaded = step_2.load<std::vector<std::uint16_t>>("w").value();

  // A server that has step 1 in memory changes what changed, and nothing else.
  std::vector<std::uint16_t> served(1 << 20);
  zp::apply_delta("step_2.delta", {{"w", served}}).value();
  return loaded == w && served == w ? 0 : 1;
}
