// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// zarrpoint among the peers of run.py.
// Usage: orbax_peer open CHECKPOINT            prints the seconds until every leaf is known, those
// of
//                                              all processors, and how many leaves there are
//        orbax_peer load CHECKPOINT            the same until all is in new memory
//        orbax_peer same CHECKPOINT TENSORS    compares every byte with a safetensors file
//        orbax_peer save CHECKPOINT TENSORS [LEVEL]    the seconds to save what is in memory,
//        synced

#include <zarrpoint/orbax.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <variant>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// Prints the seconds and those of all processors since it was made, and a number of arrays.
class stopwatch {
 public:
  void tell(std::size_t arrays) const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began_;
    const double used = static_cast<double>(std::clock() - used_) / CLOCKS_PER_SEC;
    std::printf("%.6f %.6f %zu\n", spent.count(), used, arrays);
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::clock_t used_ = std::clock();
};

zp::checkpoint opened(const std::string& path) {
  zp::context how = zp::default_context();
  how.stores = zp::formats<zp::orbax::format>();
  return zp::open(path, how).value();
}

int open(const std::string& path) {
  const stopwatch watch;
  const auto ckpt = opened(path);
  watch.tell(ckpt.names().size());
  return 0;
}

int load(const std::string& path) {
  const stopwatch watch;
  const auto leaves = zp::load_all(opened(path)).value();
  watch.tell(leaves.size());
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

int save(const std::string& path, const std::string& original, const char* level) {
  const auto file = zp::safetensors::open(original).value();
  std::vector<zp::tensor> values;
  for (const auto& each : file.tensors()) {
    const auto mapped = file.view(each.name).value();
    values.push_back(zp::tensor::make(mapped.spec()).value());
    std::memcpy(values.back().mutable_view().data, mapped.data,
                zp::byte_count(mapped.spec()).value());
  }
  std::vector<zp::orbax::tree_item> tree;
  for (std::size_t i = 0; i < values.size(); ++i)
    tree.emplace_back(file.tensors()[i].name, values[i]);
  zp::save_options how;
  if (level != nullptr) how.rules = {{.codecs = zp::zstd_codecs(std::atoi(level))}};
  const stopwatch watch;
  const auto report = zp::orbax::save(path, tree, how).value();
  watch.tell(report.leaves.size());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 2 ? words[1] : "";
  if (what == "open") return open(words[2]);
  if (what == "load") return load(words[2]);
  if (what == "same" && count == 4) return same(words[2], words[3]);
  if (what == "save" && count > 3) return save(words[2], words[3], count > 4 ? words[4] : nullptr);
  return 2;
}
