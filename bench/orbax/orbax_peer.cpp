// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// zarrpoint among the peers of run.py.
// Usage: orbax_peer open CHECKPOINT            prints the seconds until every leaf is known
//        orbax_peer load CHECKPOINT            prints the seconds until all is in new memory, and a
//        sum of all bytes
//        orbax_peer same CHECKPOINT TENSORS    compares every byte with a safetensors file

#include <zarrpoint/orbax.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <variant>

namespace zp = zarrpoint;

namespace {

using clock_type = std::chrono::steady_clock;

double since(clock_type::time_point began) {
  return std::chrono::duration<double>(clock_type::now() - began).count();
}

zp::checkpoint opened(const std::string& path) {
  return zp::open(path, {.stores = zp::orbax_stores::table()}).value();
}

int open(const std::string& path) {
  const auto began = clock_type::now();
  const auto ckpt = opened(path);
  const std::size_t leaves = ckpt.names().size();
  std::printf("%.6f %zu\n", since(began), leaves);
  return 0;
}

int load(const std::string& path) {
  const auto began = clock_type::now();
  const auto leaves = zp::load_all(opened(path)).value();
  std::printf("%.6f %zu\n", since(began), leaves.size());
  return 0;
}

int same(const std::string& path, const std::string& original) {
  const auto leaves = zp::load_all(opened(path)).value();
  const auto file = zp::safetensors::open(original).value();
  if (leaves.size() != file.tensors().size()) return 1;
  for (const auto& [name, value] : leaves) {
    const auto wanted = file.view(name).value();
    const auto* loaded = std::get_if<zp::tensor>(&value);
    if (loaded == nullptr || loaded->shape() != wanted.shape || loaded->type() != wanted.type)
      return 1;
    if (std::memcmp(loaded->view().data, wanted.data, loaded->size() * wanted.type.size()) != 0)
      return 1;
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 2 ? words[1] : "";
  if (what == "open") return open(words[2]);
  if (what == "load") return load(words[2]);
  if (what == "same" && count == 4) return same(words[2], words[3]);
  return 2;
}
