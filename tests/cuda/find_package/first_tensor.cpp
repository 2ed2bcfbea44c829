// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// With the real CUDA runtime: a tensor goes to a device, from there to a checkpoint, and back.
// Where there is no device, the error must say so, and this program says what it was.

#include <zarrpoint/cuda.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

zp::result<bool> round_trip(const std::string& where, const std::vector<float>& values) {
  using tensor = zp::cuda::tensor<float>;
  ZARRPOINT_TRY(stream, zp::cuda::stream::make());
  ZARRPOINT_TRY(w, tensor::from_host(values, {10, 100}, stream.space()));
  ZARRPOINT_CHECK(zp::save(where, {{"w", w}}));
  ZARRPOINT_TRY(read, zp::open(where));
  ZARRPOINT_TRY(again,
                read.load<tensor>("w", zp::place<zp::cuda::device_space>{nullptr, stream.space()}));
  ZARRPOINT_TRY(back, again.download());
  return back == values;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string where = argc > 1 ? argv[1] : "first_tensor.zarr";
  const std::vector<float> values(1000, 0.25F);
  const auto outcome = round_trip(where, values);
  if (outcome) {
    std::printf("a device: the tensor came back %s\n", *outcome ? "whole" : "WRONG");
    return *outcome ? 0 : 1;
  }
  std::printf("%s\n", zp::to_string(outcome.failure()).c_str());
  if (zp::cuda::device_count()) return 1;  // there is one, and it failed
  // Of the runtime without a device: the host's part works.
  const bool says_so = outcome.failure().code == zp::errc::device &&
                       outcome.failure().message.find("no CUDA device") != std::string::npos;
  const auto saved = zp::save(where, {{"w", values}});
  const auto loaded = zp::open(where).value().load<zp::cuda::tensor<float>>("w");
  if (loaded || !saved) return 1;
  std::printf("%s\n", zp::to_string(loaded.failure()).c_str());
  return says_so && loaded.failure().message.find("no CUDA device") != std::string::npos ? 0 : 1;
}
