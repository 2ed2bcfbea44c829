// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// zarrpoint among the libraries of rows.py.
// Usage: zarrpoint_rows TASK PLACE OUT    prints the seconds of the task
//        zarrpoint_rows make PLACE OUT    writes what all libraries read
// PLACE has model.safetensors and small.safetensors; OUT is what the task writes, or nothing yet.

#include <zarrpoint/array.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace zp = zarrpoint;

namespace {

constexpr zp::index_t columns = 4096;

using leaf_map =
    std::remove_cvref_t<decltype(zp::load_all(std::declval<const zp::checkpoint&>()).value())>;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

zp::safetensors::file originals(const std::string& path) {
  return zp::safetensors::open(path).value();
}

/// The tensors in memory of this process.
class model {
 public:
  explicit model(const std::string& path) {
    const auto file = originals(path);
    for (const auto& tensor : file.tensors()) {
      const zp::host_view from = file.view(tensor.name).value();
      zp::tensor copy = zp::tensor::make(from.spec()).value();
      file.read(tensor.name, copy.mutable_view()).value();
      leaves_.emplace_back(tensor.name, std::move(copy));
    }
  }
  const std::vector<zp::leaf>& leaves() const { return leaves_; }

 private:
  std::vector<zp::leaf> leaves_;
};

zp::save_options with(std::vector<zp::codec_spec> codecs, bool sync) {
  zp::save_options out{.sync = sync};
  out.rules = {{.codecs = std::move(codecs)}};
  return out;
}

/// An array of the model's first bytes, [rows, 4096], in inner chunks of one shape.
void make_array(const std::string& place, const std::string& name, const zp::dims& inner,
                std::vector<zp::codec_spec> codecs) {
  const auto file = originals(place + "/model.safetensors");
  const auto rows = static_cast<zp::index_t>(
      (std::filesystem::file_size(place + "/model.safetensors") - file.data_offset()) / 2 /
      columns / 512 * 512);
  std::vector<std::uint16_t> values;
  values.reserve(static_cast<std::size_t>(rows * columns));
  for (const auto& tensor : file.tensors()) {
    const zp::host_view from = file.view(tensor.name).value();
    const auto count = static_cast<std::size_t>(from.shape[0] * from.shape[1]);
    const std::size_t used = std::min(count, values.capacity() - values.size());
    const auto* const begin = reinterpret_cast<const std::uint16_t*>(from.data);
    values.insert(values.end(), begin, begin + used);
  }
  const zp::host_view view = zp::dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                            {zp::dtype_kind::uint16, {rows, columns}});
  zp::save_options options{.sync = false};
  options.rules = {{.chunk_shape = inner, .codecs = std::move(codecs)}};
  zp::save(place + "/" + name, {{"a", view}}, options).value();
}

/// One shard of `rows` rows, whose inner chunks of 64 KiB a task writes again.
void make_rewrite(const std::string& place) {
  zp::sharding_config inner;
  inner.chunk_shape = {8, columns};
  inner.codecs = zp::raw_codecs();
  zp::array_metadata metadata;
  metadata.type = zp::dtype_kind::uint16;
  metadata.shape = {32768, columns};
  metadata.chunk_shape = metadata.shape;
  metadata.fill = zp::fill_value::zero(metadata.type);
  metadata.codecs = {inner.to_spec().value()};
  auto store = zp::file_store::open(place + "/rewrite", {.create = true}).value();
  auto made = zp::array::create(store, zp::store_key::parse("a").value(), metadata).value();
  std::vector<std::uint16_t> values(static_cast<std::size_t>(32768 * columns));
  std::mt19937_64 random(3);
  for (auto& each : values) each = static_cast<std::uint16_t>(random());
  made.write(zp::box::whole(metadata.shape), std::span(values)).value();
}

int make(const std::string& place) {
  const model weights(place + "/model.safetensors");
  zp::save(place + "/zarrpoint.raw", weights.leaves(), {.sync = false}).value();
  zp::save(place + "/blosc", weights.leaves(), with(zp::blosc_codecs(), false)).value();
  zp::save(place + "/zstd", weights.leaves(), with(zp::zstd_codecs(1), false)).value();
  const model small(place + "/small.safetensors");
  zp::save(place + "/zarrpoint.small", small.leaves(), {.sync = false}).value();
  zp::save(place + "/zarrpoint.small.zarr.zip", small.leaves(), {.sync = false}).value();
  make_array(place, "parts_raw", {512, 1024}, zp::raw_codecs());
  make_array(place, "parts_zstd", {512, 1024}, zp::zstd_codecs(1));
  make_array(place, "random_raw", {8, columns}, zp::raw_codecs());
  make_array(place, "random_zstd", {8, columns}, zp::zstd_codecs(1));
  make_rewrite(place);
  return 0;
}

void compare(const std::string& original, const leaf_map& leaves) {
  const auto file = originals(original);
  require(leaves.size() == file.tensors().size(), "not all are there");
  for (const auto& [name, value] : leaves) {
    const auto wanted = file.view(name).value();
    const auto* loaded = std::get_if<zp::tensor>(&value);
    require(loaded != nullptr && loaded->shape() == wanted.shape, "another shape");
    const std::size_t bytes = loaded->size() * loaded->type().size();
    require(std::memcmp(loaded->view().data, wanted.data, bytes) == 0, "other elements");
  }
}

double load(const std::string& path, const std::string& original) {
  leaf_map leaves;
  const double spent = seconds_of([&] { leaves = zp::load_all(zp::open(path).value()).value(); });
  compare(original, leaves);
  return spent;
}

double save(const std::string& original, const std::string& out, const zp::save_options& how) {
  const model weights(original);
  return seconds_of([&] { zp::save(out, weights.leaves(), how).value(); });
}

zp::array open_array(const std::string& folder) {
  return zp::array::open(zp::file_store::open(folder).value(), zp::store_key::parse("a").value())
      .value();
}

double part(const std::string& folder, const std::string& which) {
  const zp::array a = open_array(folder);
  const zp::index_t rows = a.metadata().shape[0];
  zp::selection wanted({0, columns / 4}, {rows, columns / 4}, {1, 1});
  if (which == "rows") wanted = zp::selection({rows / 4, 0}, {rows / 4, columns}, {1, 1});
  if (which == "strided") wanted = zp::selection({0, 0}, {rows / 4, columns}, {4, 1});
  zp::tensor got;
  const double spent = seconds_of([&] { got = a.read(wanted).value(); });
  std::uint64_t sum = 0;
  for (const std::uint16_t value : got.data<std::uint16_t>()) sum += value;
  std::fprintf(stderr, "sum %llu\n", static_cast<unsigned long long>(sum));
  return spent;
}

/// A linear congruential walk, which every library follows.
struct walk {
  std::uint64_t state = 1;
  zp::index_t next(zp::index_t below) {
    state = (state * 1103515245 + 12345) % 2147483648U;
    return static_cast<zp::index_t>(state % static_cast<std::uint64_t>(below));
  }
};

double random_chunks(const std::string& folder) {
  const zp::array a = open_array(folder);
  const zp::index_t count = a.metadata().shape[0] / 8;
  std::vector<std::uint16_t> chunk(8 * columns);
  std::uint64_t sum = 0;
  walk at;
  const double spent = seconds_of([&] {
    for (int i = 0; i < 2000; ++i) {
      a.read(zp::box({8 * at.next(count), 0}, {8, columns}), chunk).value();
      sum += chunk[17];
    }
  });
  std::fprintf(stderr, "sum %llu\n", static_cast<unsigned long long>(sum));
  return spent / 2000;
}

double rewrite(const std::string& folder) {
  const zp::array a = open_array(folder);
  std::vector<std::uint16_t> chunk(8 * columns, static_cast<std::uint16_t>(std::random_device{}()));
  walk at;
  const double spent = seconds_of([&] {
    for (int i = 0; i < 10; ++i)
      a.write(zp::box({8 * at.next(4096), 0}, {8, columns}), std::span(chunk)).value();
  });
  return spent / 10;
}

double run(const std::string& task, const std::string& place, const std::string& out) {
  const std::string big = place + "/model.safetensors";
  const std::string small = place + "/small.safetensors";
  if (task == "load_raw") return load(place + "/zarrpoint.raw", big);
  if (task == "load_blosc") return load(place + "/blosc", big);
  if (task == "load_zstd") return load(place + "/zstd", big);
  if (task == "load_small") return load(place + "/zarrpoint.small", small);
  if (task == "load_small_zip") return load(place + "/zarrpoint.small.zarr.zip", small);
  if (task == "save_raw") return save(big, out, {.sync = false});
  if (task == "save_raw_synced") return save(big, out, {.sync = true});
  if (task == "save_blosc") return save(big, out, with(zp::blosc_codecs(), false));
  if (task == "save_blosc_synced") return save(big, out, with(zp::blosc_codecs(), true));
  if (task == "save_zstd") return save(big, out, with(zp::zstd_codecs(1), false));
  if (task == "save_small") return save(small, out, {.sync = false});
  if (task == "save_small_zip") return save(small, out + ".zarr.zip", {.sync = false});
  if (task == "save_zip") return save(big, out + ".zarr.zip", {.sync = false});
  if (task == "random_raw" || task == "random_zstd") return random_chunks(place + "/" + task);
  if (task == "rewrite") return rewrite(place + "/rewrite");
  const std::size_t cut = task.find('_');  // columns_raw
  require(cut != std::string::npos, "no such task");
  return part(place + "/parts" + task.substr(cut), task.substr(0, cut));
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  if (std::string(words[1]) == "make") return make(words[2]);
  std::printf("%.9f\n", run(words[1], words[2], words[3]));
  return 0;
}
