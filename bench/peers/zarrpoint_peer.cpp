// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// zarrpoint among the peers of run.py.
// Usage: zarrpoint_peer make MODEL.safetensors MODEL.zarr    saves the tensors as they are by
// default
//        zarrpoint_peer load MODEL.zarr MODEL.safetensors    prints the seconds, and compares all
//        bytes

#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

namespace zp = zarrpoint;

namespace {

int make(const std::string& from, const std::string& to) {
  const auto file = zp::safetensors::open(from).value();
  std::vector<zp::leaf> leaves;
  for (const auto& tensor : file.tensors())
    leaves.emplace_back(tensor.name, file.view(tensor.name).value());
  zp::save(to, leaves).value();
  return 0;
}

int load(const std::string& path, const std::string& original) {
  const auto began = std::chrono::steady_clock::now();
  const auto ckpt = zp::open(path).value();
  const auto leaves = zp::load_all(ckpt).value();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;

  const auto file = zp::safetensors::open(original).value();
  if (leaves.size() != file.tensors().size()) return 1;
  for (const auto& [name, value] : leaves) {
    const auto wanted = file.view(name).value();
    const auto* loaded = std::get_if<zp::tensor>(&value);
    if (loaded == nullptr || loaded->shape() != wanted.shape || loaded->type() != wanted.type)
      return 1;
    const std::size_t bytes = loaded->size() * loaded->type().size();
    if (std::memcmp(loaded->view().data, wanted.data, bytes) != 0) return 1;
  }
  std::printf("%.6f\n", spent.count());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  return std::string(words[1]) == "make" ? make(words[2], words[3]) : load(words[2], words[3]);
}
