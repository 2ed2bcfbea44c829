// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// zarrpoint among the peers of run.py, and their floor.
// Usage: dcp_peer save CHECKPOINT MEGABYTES BOX_BYTES   saves a model, and prints the seconds
//                                                       of each call
//        dcp_peer load CHECKPOINT                       the same until all is in new memory
//        dcp_peer floor_save CHECKPOINT OUT             the same of the system's calls alone, for
//        dcp_peer floor_load CHECKPOINT                 the files of a checkpoint
//        dcp_peer slice CHECKPOINT                      for the largest tensor: the bytes of a row
//        of each box, and those that reading them took

#include <zarrpoint/dcp.hpp>
#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "../floor.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// A store that counts the bytes of what is read.
struct counting_store {
  class counted final : public zp::blob {
   public:
    using zp::blob::read;
    counted(std::unique_ptr<zp::blob> from, std::shared_ptr<std::atomic<std::uint64_t>> bytes)
        : from_(std::move(from)), bytes_(std::move(bytes)) {}
    std::uint64_t size() const noexcept override { return from_->size(); }
    zp::result<void> read(std::uint64_t offset, zp::mutable_bytes into) const override {
      *bytes_ += into.size();
      return from_->read(offset, into);
    }
    std::string name() const override { return from_->name(); }

   private:
    std::unique_ptr<zp::blob> from_;
    std::shared_ptr<std::atomic<std::uint64_t>> bytes_;
  };

  zp::any_store base;
  std::shared_ptr<std::atomic<std::uint64_t>> bytes =
      std::make_shared<std::atomic<std::uint64_t>>(0);

  zp::result<std::unique_ptr<zp::blob>> open(const zp::store_key& key) const {
    ZARRPOINT_TRY(found, base.open(key));
    if (found == nullptr) return std::move(found);
    return std::unique_ptr<zp::blob>(std::make_unique<counted>(std::move(found), bytes));
  }
  std::string describe(const zp::store_key& key) const { return base.describe(key); }
  auto list(const zp::store_key& prefix) const { return base.list(prefix); }
};

constexpr int calls = 4;

/// The seconds of each call. Before it as much memory as it needs is touched and freed: a
/// hypervisor, which takes back what is free, may give it slowly.
template <class F>
void clock_calls(std::size_t bytes, F&& f) {
  for (int call = 0; call < calls; ++call) {
    bench::touch(bytes / 8 * 9);
    std::printf("%.6f ", f(call));
  }
}

std::size_t bytes_of(const std::string& checkpoint) {
  std::size_t out = 0;
  for (const auto& [path, size] : bench::chunks_of(checkpoint)) out += size;
  return out;
}

/// 23 layers of one large, one middle and one small tensor, as bench/orbax has them.
void save(const std::string& path, zp::index_t megabytes, std::uint64_t box_bytes) {
  constexpr zp::index_t layers = 23;
  const zp::index_t unit = (megabytes << 20) / 2 / layers / 21 / 1024;
  std::vector<zp::tensor> model;
  std::vector<zp::leaf> leaves;
  for (zp::index_t i = 0; i < layers; ++i)
    for (const zp::index_t times : {16, 4, 1}) {
      model.push_back(zp::tensor::make({zp::dtype_kind::bfloat16, {unit * times, 1024}}).value());
      std::byte* const first = model.back().mutable_view().data;
      const std::size_t size = byte_count(model.back().spec()).value();
      for (std::size_t at = 0; at < size; ++at) first[at] = static_cast<std::byte>(at * 31 >> 3);
    }
  for (std::size_t i = 0; i < model.size(); ++i)
    leaves.emplace_back("layers." + std::to_string(i), model[i]);
  clock_calls(static_cast<std::size_t>(megabytes) << 20, [&](int call) {
    if (call != 0) std::filesystem::remove_all(path);
    return bench::seconds_of([&] {
      zp::dcp::save(path, leaves,
                    {.sync = false, .format = zp::dcp::format{.chunk_bytes = box_bytes}})
          .value();
    });
  });
}

void load(const std::string& path) {
  // All are kept to the end: each call's tensors are in memory that nobody used before.
  std::vector<std::map<std::string, zp::default_types::value>> kept(calls);
  clock_calls(bytes_of(path), [&](int call) {
    return bench::seconds_of([&] {
      zp::context how = zp::default_context();
      how.stores = zp::formats<zp::dcp::format>();
      kept[static_cast<std::size_t>(call)] = zp::load_all(zp::open(path, how).value()).value();
    });
  });
}

void floor_save(const std::string& of, const std::string& out) {
  clock_calls(bytes_of(of), [&](int) {
    std::filesystem::remove_all(out);
    return bench::save_floor(of, out, false);
  });
}

void slice(const std::string& path) {
  const counting_store base{zp::file_store::open(path, {.read_only = true}).value()};
  const auto state = zp::dcp::state_store::open(base, zp::store_key::root()).value();
  const auto& tensors = state.metadata().tensors;
  const auto& large = *std::max_element(
      tensors.begin(), tensors.end(),
      [](const auto& a, const auto& b) { return a.chunks.size() < b.chunks.size(); });
  const auto from = zp::open(state).value();
  *base.bytes = 0;
  std::uint64_t wanted = 0;
  for (const auto& chunk : large.chunks) {
    zp::box row = chunk.at;
    row.shape[0] = 1;
    wanted += byte_count(from.load<zp::tensor>(large.name, row).value().spec()).value();
  }
  const std::uint64_t read = *base.bytes;
  const std::size_t boxes = large.chunks.size();
  std::printf("%zu boxes: %llu bytes wanted, %llu read: %.0f more a box\n", boxes,
              static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(read),
              static_cast<double>(read - wanted) / static_cast<double>(boxes));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string action = count > 2 ? arguments[1] : "";
  if (action == "save" && count == 5) {
    save(arguments[2], std::atoll(arguments[3]), std::strtoull(arguments[4], nullptr, 10));
  } else if (action == "load") {
    load(arguments[2]);
  } else if (action == "floor_save" && count == 4) {
    floor_save(arguments[2], arguments[3]);
  } else if (action == "floor_load") {
    const std::string of = arguments[2];
    clock_calls(bytes_of(of), [&](int) { return bench::load_floor(of); });
  } else if (action == "slice") {
    slice(arguments[2]);
  } else {
    return 2;
  }
  return 0;
}
