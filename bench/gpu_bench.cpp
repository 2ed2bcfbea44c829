// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Checkpoints to and from the memory of a GPU, against what the same bytes cost without a library,
// in the same run: copies from memory that is pinned already, and reads of the file by as many
// threads. bench/gpu.sh builds and runs it; docs/benchmarks.md has what was measured.
// Usage: gpu_bench DIRECTORY [MEGABYTES [TENSORS [ROUNDS [THREADS [DEVICE [ROWS]]]]]]
// ROWS: the names of those that are measured, all by default, e.g. G1,G4.

#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/cuda.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/cufile.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "gpu_harness.hpp"
#include "gpu_kernels.hpp"

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>

namespace fs = std::filesystem;
namespace zp = zarrpoint;
using bench::device_space;
using half_tensor = zp::cuda::tensor<zp::bfloat16>;

namespace {

constexpr zp::index_t columns = 4096;

struct setup {
  std::string folder;
  std::size_t bytes;  ///< of the big tensor
  std::size_t tensors;
  int rounds;
  zp::context how;
  device_space space;
  bench::pinned_blocks& pinned;

  zp::dims shape() const { return {static_cast<zp::index_t>(bytes / 2) / columns, columns}; }
  zp::place<device_space> place() const { return {.resource = nullptr, .space = space}; }
  std::string path(const char* name) const { return folder + "/" + name + ".zarr"; }
};

/// bfloat16 weights; beyond 64 MiB they repeat, which no codec sees from one chunk to the next.
zp::tensor weights(const setup& s) {
  const std::size_t rows = std::min<std::size_t>(s.bytes / 2 / columns, 8192);
  const std::vector<std::uint16_t> some = bench::weights(rows, columns);
  zp::tensor out = zp::tensor::make({zp::dtype_kind::bfloat16, s.shape()}).value();
  std::byte* const to = out.mutable_view().data;
  for (std::size_t at = 0; at < s.bytes; at += some.size() * 2)
    std::memcpy(to + at, some.data(), std::min(some.size() * 2, s.bytes - at));
  return out;
}

/// Ends the program when the device has other elements than the host: the rows would mean nothing.
void require_same(const half_tensor& there, const std::byte* here, const char* what) {
  const std::vector<zp::bfloat16> seen = there.download().value();
  bench::require(std::memcmp(seen.data(), here, seen.size() * 2) == 0, what);
}

std::byte* bytes_of(half_tensor& tensor) { return reinterpret_cast<std::byte*>(tensor.data()); }

/// G1 and G2: one big tensor to the device.
void load_big(const setup& s, const zp::tensor& values, bool compressed) {
  const std::string path = s.path(compressed ? "blosc" : "raw");
  zp::save_options options{.sync = false};
  if (compressed) options.rules = {{.codecs = zp::blosc_codecs()}};
  zp::save(path, {{"w", values}}, options, s.how).value();
  const std::string file = path + "/w/c.0.0";
  const auto stored = fs::file_size(file);
  half_tensor target = half_tensor::make(s.shape(), s.space).value();
  const auto link = [&] { bench::copy_to_device(s.pinned, bytes_of(target), s.bytes); };
  const auto disk = [&] {
    bench::read_file(s.pinned, file, std::min<std::size_t>(stored, s.bytes));
  };
  const auto load_into = [&] { zp::open(path, s.how).value().load_into("w", target).value(); };
  if (compressed) {
    char name[96];
    std::snprintf(name, sizeof name, "G2 load_into, blosc (%.1f %% stored), page cache, verified",
                  100.0 * static_cast<double>(stored) / static_cast<double>(s.bytes));
    bench::run({name, s.bytes, load_into, {{"pinned copy of the elements", link}}, ">= 1.0"},
               s.rounds);
    load_into();
    load_into();
    require_same(target, values.view().data, "load_into, blosc");
    return;
  }
  bench::run({"G1 load_into, raw, page cache, verified",
              s.bytes,
              load_into,
              {{"pinned copy", link}, {"pread", disk}},
              ">= 0.85"},
             s.rounds);
  load_into();
  require_same(target, values.view().data, "load_into, raw");
  bench::run({"G1 load, raw, page cache, verified, the tensor allocated, too",
              s.bytes,
              [&] {
                const auto loaded =
                    zp::open(path, s.how).value().load<half_tensor>("w", s.place()).value();
                bench::require(loaded.loaded(), "load");
              },
              {{"pinned copy", link}, {"pread", disk}},
              ">= 0.85"},
             s.rounds);
  bench::run({.name = "G1 load_into, raw, not in the page cache, verified",
              .bytes = s.bytes,
              .ours = load_into,
              .floors = {{"pread", disk}},
              .target = ">= 0.9",
              .before = [&] { bench::forget_file(file); }},
             s.rounds);
  const zp::cufile_loader direct = zp::cufile_loader::find();
  if (!direct.available()) {
    std::printf("| G1 by cuFile: not measured, %s | | | | | |\n", direct.why_not().c_str());
    return;
  }
  zp::direct_load way;
  bench::run({.name = "G1 by cuFile, raw, not in the page cache, verified on the device",
              .bytes = s.bytes,
              .ours =
                  [&] {
                    const auto from = zp::open(path, s.how).value();
                    way = direct.load_into(from, "w", target).value();
                  },
              .floors = {{"pread", disk}},
              .target = ">= 0.9",
              .before = [&] { bench::forget_file(file); }},
             s.rounds);
  if (!way.direct)
    std::printf("| (which went the plain way: %s) | | | | | |\n", way.why_not.c_str());
}

/// G1, as a model comes: 64 tensors, which are allocated, too.
void load_model(const setup& s, const zp::tensor& values) {
  constexpr std::size_t count = 64;
  const std::size_t each = s.bytes / count;
  const zp::dims shape{static_cast<zp::index_t>(each / 2)};
  const auto name = [](std::size_t i) { return "layers/" + std::to_string(i); };
  const std::byte* const first = values.view().data;
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < count; ++i)
    leaves.emplace_back(name(i), zp::dense_view(first + i * each,
                                                zp::tensor_spec{zp::dtype_kind::bfloat16, shape}));
  zp::save(s.path("model"), leaves, {.sync = false}, s.how).value();
  half_tensor target = half_tensor::make(s.shape(), s.space).value();
  std::vector<half_tensor> loaded;
  const auto load = [&] {
    loaded.clear();
    const auto from = zp::open(s.path("model"), s.how).value();
    std::vector<zp::load_target> wanted;
    for (std::size_t i = 0; i < count; ++i)
      loaded.push_back(half_tensor::make(shape, s.space).value());
    for (std::size_t i = 0; i < count; ++i) wanted.emplace_back(name(i), loaded[i]);
    zp::load_into_all(from, wanted).value();
  };
  bench::run(
      {"G1 open, make and load_into_all, 64 tensors, raw, page cache, verified",
       s.bytes,
       load,
       {{"pinned copy", [&] { bench::copy_to_device(s.pinned, bytes_of(target), s.bytes); }}},
       ">= 0.85"},
      s.rounds);
  for (std::size_t i = 0; i < count; ++i) require_same(loaded[i], first + i * each, "a model");
}

/// G3: many small tensors, from 2 to 64 KiB.
void load_small(const setup& s) {
  std::mt19937_64 random(3);
  std::vector<zp::tensor> values;
  std::vector<zp::leaf> leaves;
  std::vector<half_tensor> targets;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < s.tensors; ++i) {
    const auto count = static_cast<zp::index_t>(1024 + random() % (31 * 1024));
    values.push_back(zp::tensor::make({zp::dtype_kind::bfloat16, {count}}).value());
    std::memset(values.back().mutable_view().data, static_cast<int>(i % 251),
                static_cast<std::size_t>(count) * 2);
    targets.push_back(half_tensor::make({count}, s.space).value());
    bytes += static_cast<std::size_t>(count) * 2;
  }
  const auto name = [](std::size_t i) { return "layers/" + std::to_string(i); };
  for (std::size_t i = 0; i < s.tensors; ++i) leaves.emplace_back(name(i), values[i]);
  zp::save(s.path("small"), leaves, {.sync = false}, s.how).value();
  const auto opened = zp::open(s.path("small"), s.how).value();
  half_tensor all = half_tensor::make({static_cast<zp::index_t>(bytes / 2)}, s.space).value();
  bench::run(
      {.name = "G3 load_into_all, " + std::to_string(s.tensors) + " tensors of 2-64 KiB",
       .bytes = bytes,
       .ours =
           [&] {
             std::vector<zp::load_target> wanted;
             wanted.reserve(targets.size());
             for (std::size_t i = 0; i < targets.size(); ++i)
               wanted.emplace_back(name(i), targets[i]);
             zp::load_into_all(opened, wanted).value();
           },
       .floors = {{"pinned copy", [&] { bench::copy_to_device(s.pinned, bytes_of(all), bytes); }}},
       .target = "<= 5 us each",
       .items = s.tensors},
      s.rounds);
  for (std::size_t i = 0; i < s.tensors; ++i)
    require_same(targets[i], values[i].view().data, "load_into_all");
}

/// G4: from the device to the page cache, and how long the caller waits.
void save_big(const setup& s, const zp::tensor& values) {
  half_tensor source = half_tensor::make(s.shape(), s.space).value();
  source.upload({reinterpret_cast<const zp::bfloat16*>(values.view().data), source.size()}).value();
  const std::string path = s.path("saved");
  const std::string file = s.folder + "/floor.bin";
  const auto link = [&] { bench::copy_to_host(s.pinned, bytes_of(source), s.bytes); };
  const auto disk = [&] { bench::write_file(s.pinned, file, s.bytes); };
  const double first = bench::seconds_of(
      [&] { zp::save(path, {zp::leaf("w", source)}, {.sync = false}, s.how).value(); });
  bench::run({"G4 save, raw, to the page cache, in all",
              s.bytes,
              [&] { zp::save(path, {zp::leaf("w", source)}, {.sync = false}, s.how).value(); },
              {{"pinned copy", link}, {"pwrite", disk}},
              ">= 0.85"},
             s.rounds);
  const std::pair<std::string, std::function<void()>> link_floor{"pinned copy", link};
  const std::pair<std::string, std::function<void()>> memory_floor{
      "new memory, filled", [&] { bench::fill_new_memory(s.pinned, s.bytes); }};
  std::optional<zp::pending<zp::save_report>> under_way;
  double blocked = 0;
  for (const bool device_copy : {false, true}) {
    bench::run(
        {.name = std::string("G4 save_async, until the call returns") +
                 (device_copy ? ", copied on the device first" : ""),
         .bytes = s.bytes,
         .ours =
             [&] {
               std::vector<zp::leaf> leaves;
               leaves.emplace_back("w", source);
               under_way.emplace(zp::save_async(
                   path, std::move(leaves), {.sync = false, .device_copy = device_copy}, s.how));
             },
         .floors = device_copy ? std::vector{link_floor} : std::vector{link_floor, memory_floor},
         .target = ">= 0.91",
         .after = [&] { blocked = std::move(*under_way).get().value().blocked_seconds; }},
        s.rounds);
    std::printf("| (its report says: blocked for %.1f ms) | | | | | |\n", blocked * 1e3);
  }
  const auto saved = zp::open(path, s.how).value().load<zp::tensor>("w").value();
  bench::require(std::memcmp(saved.view().data, values.view().data, s.bytes) == 0, "save");
  std::printf("| (the first save, which pins the ring, took %.1f ms) | | | | | |\n", first * 1e3);
  fs::remove(file);
}

/// G5: an eighth of the rows, and of the columns, as one GPU of eight takes them.
void load_boxes(const setup& s, const zp::tensor& values) {
  const zp::dims shape = s.shape();
  const zp::dims chunk{std::min<zp::index_t>(1024, shape[0]), 512};
  zp::save(s.path("boxes"), {{"w", values}},
           {.rules = {{.chunk_shape = chunk, .shard_shape = shape}}, .sync = false}, s.how)
      .value();
  const zp::array from = zp::open(s.path("boxes"), s.how).value().as_array("w").value();
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
    zp::selection part = zp::box::whole(shape);
    part.shape[axis] /= 8;
    part.offset[axis] = 3 * part.shape[axis];
    half_tensor target = half_tensor::make(part.shape, s.space).value();
    const auto width = static_cast<std::size_t>(part.shape[1]) * 2;
    const std::size_t bytes = static_cast<std::size_t>(part.shape[0]) * width;
    const std::size_t pitch = static_cast<std::size_t>(shape[1]) * 2;
    const auto rows_at_once =
        std::min<std::size_t>(bench::pinned_blocks::block_bytes / pitch, target.size() * 2 / width);
    bench::run(
        {axis == 0 ? "G5 an eighth of the rows" : "G5 an eighth of the columns",
         bytes,
         [&] {
           zp::detail::device_read<device_space> reading(
               from, zp::handler_of<half_tensor>::writable(target), {.how = &s.how});
           s.space.wait(reading.start(part).value()).value();
         },
         {{"pinned copy of rows",
           [&] {
             const auto rows = static_cast<std::size_t>(part.shape[0]);
             for (std::size_t i = 0; i < rows; i += rows_at_once) {
               const zp::row_block block{width, std::min(rows_at_once, rows - i), width, pitch};
               s.space.copy_from_host(bytes_of(target) + i * width, s.pinned[i], block).value();
             }
             zp::detail::wait_for_stream(s.space).value();
           }}},
         ">= 0.85"},
        s.rounds);
    zp::detail::device_read<device_space> reading(from,
                                                  zp::handler_of<half_tensor>::writable(target));
    s.space.wait(reading.start(part).value()).value();
    require_same(target, from.read(part).value().view().data, "a box");
  }
}

/// G6: kernels over data that are on the device, against the link that they hide behind.
void run_kernels(const setup& s) {
  if (!zp::has_kernels(s.space)) {
    std::printf("| G6: not measured, there are no kernels | | | | | |\n");
    return;
  }
  constexpr int times = 8;
  half_tensor from = half_tensor::make(s.shape(), s.space).value();
  half_tensor to = half_tensor::make(s.shape(), s.space).value();
  s.space.fill(bytes_of(from), std::byte{0x5a}, s.bytes).value();
  const auto repeated = [&](const std::function<zp::result<void>()>& work) {
    return [&s, work] {
      for (int i = 0; i < times; ++i) work().value();
      zp::detail::wait_for_stream(s.space).value();
    };
  };
  const auto link = [&] {
    for (int i = 0; i < times; ++i) bench::copy_to_device(s.pinned, bytes_of(to), s.bytes);
  };
  const auto within =
      repeated([&] { return s.space.copy_within(bytes_of(to), bytes_of(from), s.bytes); });
  const auto crc = repeated([&] { return s.space.crc32c(bytes_of(to), bytes_of(from), s.bytes); });
  const auto unshuffle =
      repeated([&] { return s.space.unshuffle(bytes_of(to), bytes_of(from), 2, s.bytes / 2); });
  for (const auto& [name, work] : {std::pair{"crc32c", crc}, std::pair{"unshuffle", unshuffle}}) {
    const std::string title = std::string("G6 kernel ") + name;
    bench::run({title, s.bytes * times, work, {{"pinned copy", link}}, ">= 3"}, s.rounds);
    bench::run({title, s.bytes * times, work, {{"copy on the device", within}}, "none"}, s.rounds);
  }
}

int run(int argc, char** argv) {
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? static_cast<std::size_t>(std::strtoull(argv[i], nullptr, 10)) : otherwise;
  };
  const auto threads =
      static_cast<unsigned>(number(5, std::max(1U, std::thread::hardware_concurrency())));
  const int device = static_cast<int>(number(6, 0));
  const zp::cuda::kernel_table* const kernels = bench::gpu_kernels();
  const zp::cuda::stream stream = zp::cuda::stream::make(device).value();
  const zp::thread_pool pool(threads);
  zp::context how = zp::default_context();
  how.executor = pool.executor();
  const bench::device_space space = stream.space(kernels);
  bench::pinned_blocks pinned(space, threads);
  const setup s{argv[1],
                number(2, 8192) << 20,
                number(3, 18867),
                static_cast<int>(number(4, 11)),
                zp::with_scratch(how),
                space,
                pinned};
  fs::create_directories(s.folder);
  std::printf("%zu MiB of bfloat16, %u threads, %d rounds, device %d%s\n\n", s.bytes >> 20, threads,
              s.rounds, device, bench::gpu_note());
  bench::print_head();
  const zp::tensor values = weights(s);
  const std::string rows = argc > 7 ? argv[7] : "G1,G2,G3,G4,G5,G6";
  const auto wanted = [&](const char* row) { return rows.find(row) != std::string::npos; };
  if (wanted("G1")) load_big(s, values, false);
  if (wanted("G1") || wanted("model")) load_model(s, values);
  if (wanted("G2")) load_big(s, values, true);
  if (wanted("G3")) load_small(s);
  if (wanted("G4")) save_big(s, values);
  if (wanted("G5")) load_boxes(s, values);
  if (wanted("G6")) run_kernels(s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "gpu_bench DIRECTORY [MEGABYTES [TENSORS [ROUNDS [THREADS [DEVICE [ROWS]]]]]]\n");
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "gpu_bench: %s\n", failure.what());
    return 1;
  }
}
