// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The second translation unit of a program; the first is the README's, whose main has another name.

#include <zarrpoint/zarrpoint.hpp>
#include <zarrpoint/zarrpoint_gzip.hpp>
#include <zarrpoint/zarrpoint_safetensors.hpp>

#include "copy/zarrpoint.hpp"
#include "copy/zarrpoint_gzip.hpp"

#include <vector>

namespace zp = zarrpoint;

int readme_main();

int main() {
  const std::vector<float> values{1, 2, 3};
  zp::save("other.zarr", {{"values", values}}).value();
  const auto back = zp::open("other.zarr").value().load<std::vector<float>>("values").value();
  return back == values ? readme_main() : 1;
}
