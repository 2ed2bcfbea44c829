// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/performance.md and docs/migration.md. Each returns whether it gave what the
// page promises.
//
//   docs_recipes [folder for the checkpoints]

#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/torch.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

namespace {

std::vector<float> numbers(std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i % 1000) / 8;
  return out;
}

// ------------------------------------------------------------------------- docs/performance.md

bool map_instead_of_load(const std::string& path) {
  const std::vector<float> w = numbers(500'000);
  zp::save(path, {{"model/w", w}}).value();
  const auto ckpt = zp::open(path).value();

  auto view = ckpt.view<float>("model/w").value();            // reads nothing yet
  auto verified = ckpt.view<float>("model/w", true).value();  // reads it all, once

  return view.is_zero_copy() && std::ranges::equal(view, w) && std::ranges::equal(verified, w);
}

bool load_into_the_same_memory(const std::string& path) {
  zp::save(path, {{"w", numbers(6)}}).value();

  std::vector<float> mine(6);
  for (int i = 0; i < 3; ++i) {
    auto ckpt = zp::open(path).value();  // again, when there may be a newer one
    ckpt.load_into("w", std::span<float>(mine)).value();
  }

  return mine == numbers(6);
}

bool save_without_sync(const std::string& path) {
  const std::vector<float> w = numbers(100);

  zp::save(path, {{"w", w}}, {.sync = false}).value();

  return zp::open(path).value().load<std::vector<float>>("w").value() == w;
}

bool choose_chunks(const std::string& path) {
  const std::vector<float> rows = numbers(4096 * 256);
  const zp::tensor_spec spec{zp::dtype_kind::float32, {4096, 256}};
  const auto table = zp::dense_view(reinterpret_cast<const std::byte*>(rows.data()), spec);

  const zp::leaf_rule by_rows{.glob = "embedding", .chunk_shape = zp::dims{64, 256}};
  const zp::leaf_rule by_size{.glob = "encoder/**", .chunk_byte_size = 256 << 10};
  zp::save(path, {{"embedding", table}, {"encoder/w", table}}, {.rules = {by_rows, by_size}})
      .value();
  auto array = zp::open(path).value().as_array("embedding").value();
  auto row = array.read(zp::box({70, 0}, {1, 256})).value();  // reads 64 rows, not 4096

  return row.data<float>()[3] == rows[70 * 256 + 3] &&
         zp::open(path).value().metadata("encoder/w").value().chunk_shape == zp::dims{256, 256};
}

/// Threads that the program has anyway.
class my_threads {
 public:
  void post(zp::task work) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back(std::move(work));
  }

 private:
  std::mutex mutex_;
  std::vector<std::jthread> threads_;
};

/// An executor is a copyable handle with this one member.
struct my_executor {
  my_threads* threads;
  void execute(zp::task work) const { threads->post(std::move(work)); }
};

bool choose_threads(const std::string& path) {
  const std::vector<float> w = numbers(500'000);

  zp::thread_pool pool(4);
  zp::save(path, {{"w", w}}, {}, {.executor = pool.executor()}).value();  // four work
  auto quiet = zp::open(path, zp::context{}).value();                     // the calling one alone
  my_threads threads;
  auto other = zp::open(path, {.executor = my_executor{&threads}}).value();  // yours

  return quiet.load<std::vector<float>>("w").value() == w &&
         other.load<std::vector<float>>("w").value() == w;
}

bool compress(const std::string& path) {
  const std::vector<float> w = numbers(500'000);

  const zp::leaf_rule small{.glob = "optimizer/**", .codecs = zp::blosc_codecs(1)};
  const auto report = zp::save(path, {{"optimizer/m", w}, {"w", w}}, {.rules = {small}}).value();
  for (const zp::leaf_report& leaf : report.leaves)
    std::printf("%s: %llu of %llu bytes\n", leaf.name.c_str(),
                static_cast<unsigned long long>(leaf.stored_bytes),
                static_cast<unsigned long long>(leaf.bytes));

  return report.leaves[0].stored_bytes < report.leaves[0].bytes;
}

bool stack_small_tensors(const std::string& path) {
  constexpr std::size_t count = 500, length = 32;
  const std::vector<float> stacked = numbers(count * length);  // 500 tensors, one after another

  const zp::tensor_spec spec{zp::dtype_kind::float32, {count, length}};
  const auto all = zp::dense_view(reinterpret_cast<const std::byte*>(stacked.data()), spec);
  zp::save(path, {{"scales", all}}).value();  // one leaf, not 500

  auto view = zp::open(path).value().view<float>("scales").value();
  auto seventh = view.elements().subspan(7 * length, length);

  return seventh[5] == stacked[7 * length + 5];
}

bool bound_the_memory(const std::string& path) {
  const std::vector<float> w = numbers(500'000);
  zp::save(path, {{"w", w}}, {.rules = {{.codecs = zp::zstd_codecs(1)}}}).value();

  zp::context how = zp::default_context();
  how.limit = {.bytes_in_flight = 4 << 20, .memory = 64 << 20};
  auto loaded = zp::open(path, how).value().load<std::vector<float>>("w");

  how.limit.memory = 1000;  // too little for this one: an error, not a crash
  auto refused = zp::open(path, how).value().load<zp::tensor>("w");

  return loaded && *loaded == w && !refused && refused.failure().code == zp::errc::resource_limit;
}

// --------------------------------------------------------------------------- docs/migration.md

/// A checkpoint of all tensors of a safetensors file, straight from where they are mapped.
zp::result<zp::save_report> convert(const std::string& from, const std::string& to) {
  ZARRPOINT_TRY(file, zp::safetensors::open(from));
  std::vector<zp::leaf> leaves;
  for (const auto& tensor : file.tensors()) {
    std::string name = tensor.name;  // "layers.0.w" becomes "layers/0/w"
    std::replace(name.begin(), name.end(), '.', '/');
    ZARRPOINT_TRY(elements, file.view(tensor.name));
    leaves.emplace_back(std::move(name), elements);
  }
  return zp::save(to, leaves);
}

bool from_safetensors(const std::string& folder) {
  const std::vector<float> values = numbers(6);
  const auto elements = zp::dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                       {zp::dtype_kind::float32, {2, 3}});
  const zp::safetensors::named_view theirs[] = {{"layers.0.w", elements}};
  const std::string file = folder + "/model.safetensors", path = folder + "/converted.zarr";
  zp::safetensors::save(file, theirs).value();

  convert(file, path).value();
  auto ckpt = zp::open(path).value();
  auto w = ckpt.load<std::vector<float>>("layers/0/w", {.rules = {}});  // [2, 3]: not a vector
  auto tensor = ckpt.load<zp::tensor>("layers/0/w").value();

  return !w && w.failure().code == zp::errc::shape_mismatch && tensor.data<float>()[5] == values[5];
}

/// A checkpoint of a state dict, as `torch.save(model.state_dict(), ...)` writes it.
zp::result<zp::save_report> convert_state(const zp::any_store& folder, const std::string& to) {
  ZARRPOINT_TRY(where, zp::store_key::parse("model.pt"));
  ZARRPOINT_TRY(file, zp::torch::open(folder, where));
  const zp::torch::pickle_value& state = file.root();
  std::vector<zp::torch::tensor_in_file> mapped;  // keeps the elements where they are
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < state.member_count(); ++i) {
    const std::string* const key = state.key(i).if_string();
    if (key == nullptr) return zp::error{zp::errc::unsupported, "a key that is not text"};
    std::string name = *key;
    std::replace(name.begin(), name.end(), '.', '/');
    ZARRPOINT_TRY(info, file.tensor(state.member(i)));
    ZARRPOINT_TRY(tensor, file.view(info));
    leaves.emplace_back(std::move(name), tensor.elements);
    mapped.push_back(std::move(tensor));
  }
  return zp::save(to, leaves);
}

bool from_torch_file(const std::string& folder) {
  const std::vector<float> values = numbers(6);
  const auto elements = zp::dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                       {zp::dtype_kind::float32, {2, 3}});
  const auto store = zp::file_store::open(folder).value();
  const auto key = zp::store_key::parse("model.pt").value();
  zp::torch::value::dict state;
  state.push_back({"layers.0.w", zp::torch::value(elements)});
  zp::torch::save(store, key, zp::torch::value(std::move(state))).value();

  convert_state(store, folder + "/state.zarr").value();
  const auto loaded = zp::open(folder + "/state.zarr").value().load<zp::tensor>("layers/0/w");
  return loaded.value().data<float>()[5] == values[5];
}

/// What a `torch::Tensor` is to zarrpoint: a pointer and a count (`data_ptr<float>()`, `numel()`).
bool from_torch(const std::string& folder) {
  const std::string path = folder + "/converted.zarr";
  std::vector<float> memory(6);
  float* const data_ptr = memory.data();
  const std::size_t numel = memory.size();

  auto ckpt = zp::open(path).value();
  ckpt.load_into("layers/0/w", std::span<float>(data_ptr, numel)).value();

  return memory == numbers(6);
}

bool from_highfive(const std::string& path) {
  const std::vector<float> w = numbers(6);
  const std::int64_t step = 1200;

  zp::save(path, {{"layers/0/w", w}, {"step", step}}).value();

  auto ckpt = zp::open(path).value();
  auto all = ckpt.load<std::vector<float>>("layers/0/w").value();
  auto part = ckpt.as_array("layers/0/w").value().read(zp::box({2}, {3})).value();

  return all == w && part.data<float>()[0] == w[2];
}

bool from_z5(const std::string& folder) {
  const std::string path = folder + "/volume.zarr";
  const std::vector<float> block(20 * 30, 42.0F);
  const auto elements = zp::dense_view(reinterpret_cast<const std::byte*>(block.data()),
                                       {zp::dtype_kind::float32, {20, 30}});

  zp::array_metadata made{
      .shape = {1000, 1000}, .type = zp::dtype_kind::float32, .chunk_shape = {100, 100}};
  made.codecs = zp::zstd_codecs(1);
  auto store = zp::file_store::open(path, {.create = true}).value();
  auto array = zp::array::create(store, zp::store_key::parse("data").value(), made).value();
  array.write(zp::box({50, 100}, {20, 30}), elements).value();
  auto part = array.read(zp::box({60, 100}, {10, 10})).value();  // what was not written is 0

  return part.data<float>()[99] == 42;
}

bool from_tensorstore(const std::string& path) {
  const std::vector<float> w = numbers(6);

  zp::save(path, {{"layers/0/w", w}}).value();
  auto ckpt = zp::open(path).value();
  auto array = ckpt.as_array("layers/0/w").value();
  auto part = array.read(zp::box({2}, {3})).value();               // elements 2, 3, 4
  auto even = array.read(zp::selection({0}, {3}, {2})).value();    // elements 0, 2, 4
  auto later = ckpt.load_async<std::vector<float>>("layers/0/w");  // a future: later.get()

  return part.data<float>()[2] == w[4] && even.data<float>()[2] == w[4] && later.get().value() == w;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const std::string path = folder + "/recipe.zarr";
  const std::pair<const char*, bool> recipes[] = {
      {"map instead of load", map_instead_of_load(path)},
      {"load into the same memory", load_into_the_same_memory(path)},
      {"save without sync", save_without_sync(path)},
      {"choose chunks", choose_chunks(path)},
      {"choose threads", choose_threads(path)},
      {"compress", compress(path)},
      {"stack small tensors", stack_small_tensors(path)},
      {"bound the memory", bound_the_memory(path)},
      {"from safetensors", from_safetensors(folder)},
      {"from a file of torch.save", from_torch_file(folder)},
      {"from torch", from_torch(folder)},
      {"from HighFive", from_highfive(path)},
      {"from z5", from_z5(folder)},
      {"from TensorStore", from_tensorstore(path)},
  };
  bool all = true;
  for (const auto& [name, good] : recipes) {
    if (!good) std::printf("FAILED: %s\n", name);
    all = all && good;
  }
  return all ? 0 : 1;
}
