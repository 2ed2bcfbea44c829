// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/handlers.md. Each returns whether it gave what the page promises.
//
//   docs_handlers [folder for the checkpoint]

#include <zarrpoint/members.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace app {

struct Quantized {
  std::vector<std::int8_t> q;
  float scale;
};
inline auto zarrpoint_members(Quantized& v) { return zp::members("q", v.q, "scale", v.scale); }

struct Layer {
  Quantized weight;
  std::optional<std::vector<float>> bias;
  friend auto zarrpoint_members(Layer& v) {
    return zp::members("weight", v.weight, "bias", v.bias);
  }
};

}  // namespace app

namespace {

bool members(const std::string& folder) {
  const std::string path = folder + "/members.zarr";

  const app::Quantized w{{1, -2, 3}, 0.5F};
  const std::map<std::string, app::Layer> layers{{"in", {w, {}}}, {"out", {w, {{0.1F}}}}};
  zp::save(path, {{"w", w}, {"layers", layers}}).value();

  const auto ckpt = zp::open(path).value();  // w/q, w/scale, layers/in/weight/q, ...
  const auto back = ckpt.load<app::Quantized>("w").value();
  const auto all = ckpt.load<std::map<std::string, app::Layer>>("layers").value();

  return back.q == w.q && back.scale == w.scale && !all.at("in").bias && all.at("out").bias &&
         ckpt.contains("layers/in/weight/q") && !ckpt.contains("layers/in/bias");
}

}  // namespace

int main(int argc, char** argv) {
  const bool ok = members(argc > 1 ? argv[1] : ".");
  std::puts(ok ? "as docs/handlers.md says" : "not as docs/handlers.md says");
  return ok ? 0 : 1;
}
