// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The program of the site's home, docs/index.md.

#include <zarrpoint/zarrpoint.hpp>

#include <vector>

namespace zp = zarrpoint;

int main() {
  const std::vector<float> w(1'000'000, 0.5F);
  zp::save("model.zarr", {{"layers/0/w", w}, {"step", 1200}}).value();
  const auto ckpt = zp::open("model.zarr").value();
  const auto all = ckpt.load<std::vector<float>>("layers/0/w").value();
  const auto part = ckpt.load<std::vector<float>>("layers/0/w", zp::box({500}, {3})).value();
  const auto mapped = ckpt.view<float>("layers/0/w").value();  // no copy, where the layout allows
  return all == w && part.size() == 3 && mapped.size() == w.size() ? 0 : 1;
}
