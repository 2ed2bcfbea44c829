// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A program of docs/codecs.md: a type and a codec that zarrpoint does not know.

#include <zarrpoint/zarrpoint.hpp>

#include "my_codec.hpp"
#include "my_tensor_handler.hpp"

#include <vector>

namespace zp = zarrpoint;

int main() {
  using codecs = zp::default_codecs::with<example::xor_codec>;
  zp::context how = zp::default_context();
  how.codecs = codecs::table();

  my::tensor w({2, 3});
  w.ptr()[5] = 0.5F;
  const std::vector<zp::codec_spec> chain{{"bytes", zp::json::object{{"endian", "little"}}},
                                          {"example.xor", zp::json::object{{"key", 15}}},
                                          {"crc32c"}};
  zp::save("model.zarr", {{"w", w}}, {.rules = {{.glob = "**", .codecs = chain}}}, how).value();

  const auto back = zp::open("model.zarr", how).value().load<my::tensor>("w").value();
  return back.sizes() == w.sizes() && back.ptr()[5] == 0.5F ? 0 : 1;
}
