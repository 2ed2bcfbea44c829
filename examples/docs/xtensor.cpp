// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Arrays of xtensor: saved, loaded and shown. tests/tools/check_compile_cost.py measures this
// program, too.

#include <zarrpoint/zarrpoint.hpp>

#include <xtensor/xarray.hpp>
#include <xtensor/xio.hpp>

#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace zp = zarrpoint;

int main() {
  xt::xarray<float> w{{1, 2, 3}, {4, 5, 6}};
  std::vector<zp::bfloat16> b(1024, zp::bfloat16(0.5f));
  std::int64_t step = 1200;

  zp::save("model.zarr",
           {{"layers/0/w", w}, {"layers/0/b", b}, {"step", step}, {"note", "warm start"}})
      .value();

  auto ckpt = zp::open("model.zarr").value();                    // reads one metadata document
  auto w2 = ckpt.load<xt::xarray<float>>("layers/0/w").value();  // owns its memory
  auto view = ckpt.view<zp::bfloat16>("layers/0/b").value();  // zero copy where the layout allows
  std::vector<float> mine(6);
  ckpt.load_into("layers/0/w", std::span<float>(mine)).value();  // into the caller's memory

  std::cout << w2 << "\n"
            << view.size() << " biases, mapped: " << std::boolalpha << view.is_zero_copy() << "\n";
  return w2 == w && mine[5] == 6 && ckpt.load<std::int64_t>("step").value() == 1200 ? 0 : 1;
}
