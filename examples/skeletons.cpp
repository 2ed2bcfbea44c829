// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The four skeletons to copy, at work: a type, a codec, a store and a format of a program's own.

#include "codecs/my_codec.hpp"
#include "formats/my_format.hpp"
#include "handlers/my_tensor_handler.hpp"
#include "stores/my_store.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace zp = zarrpoint;

int main() {
  // A tensor of another library, by a codec of mine, in a store of mine.
  zp::context how = zp::default_context();
  how.codecs = zp::default_codecs::with<example::xor_codec>::table();
  const std::vector<zp::codec_spec> chain{{"bytes"}, {"example.xor"}, {"crc32c"}};
  my::tensor w({2, 3});
  w.ptr()[5] = 0.5F;
  const example::my_store store;
  zp::save(store, {{"w", w}}, {.rules = {{.codecs = chain}}, .rules_must_match = true}, how)
      .value();
  const auto back = zp::open(store, how).value().load<my::tensor>("w").value();
  const bool same = back.sizes() == w.sizes() && back.ptr()[5] == 0.5F;

  // A file of a format of mine, which open knows by its first bytes.
  const std::vector<std::uint8_t> value{1, 2, 3};
  const std::string path = "skeleton.mine";
  for (int i = 0; i < 2; ++i) zp::save(path, {{"value", value}}, {.format = my::format{}}).value();
  const auto opened = zp::open(path, zp::all_formats<my::format>()).value();
  const bool found = opened.load<std::vector<std::uint8_t>>("value").value() == value;
  const bool refused = !zp::save(path, {{"w", w}}, {.format = my::format{}});

  std::puts(same && found && refused ? "the skeletons work" : "a skeleton does not work");
  return same && found && refused ? 0 : 1;
}
