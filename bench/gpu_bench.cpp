// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Checkpoints to and from the memory of a GPU, against what the same bytes cost without a library,
// in the same run: copies from memory that is pinned already, and reads of the file by as many
// threads. bench/gpu.sh builds and runs it; docs/benchmarks.md has what was measured.
// Usage: gpu_bench DIRECTORY [MEGABYTES [TENSORS [ROUNDS [THREADS [DEVICE [ROWS]]]]]]
// MEGABYTES: of the elements of a load, e.g. 4096; or several, of which the largest counts for the
// rows of other kinds. ROWS: the names of those that are measured, all by default, e.g.
// check,G1,G4.

#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/cuda.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/cufile.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "gpu_decode.hpp"
#include "gpu_encode.hpp"
#include "gpu_harness.hpp"
#include "gpu_kernels.hpp"

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string_view>

namespace fs = std::filesystem;
namespace zp = zarrpoint;
using bench::device_space;
using half_tensor = zp::cuda::tensor<zp::bfloat16>;
using zp::cuda::tensor_any;

namespace {

constexpr zp::index_t columns = 4096;
constexpr std::size_t many = 69;  ///< tensors, as a model of some size has them

struct setup {
  std::string folder;
  std::vector<std::size_t> sizes;  ///< of loads, in bytes
  std::size_t bytes;               ///< of the big tensor: the largest of them
  std::size_t tensors;
  int rounds;
  zp::context how;
  device_space space;
  bench::pinned_blocks& pinned;

  std::string path(const std::string& name) const { return folder + "/" + name + ".zarr"; }
};

zp::dims shape_of(zp::dtype type, std::size_t bytes) {
  return {static_cast<zp::index_t>(bytes / type.size()) / columns, columns};
}
std::byte* bytes_of(half_tensor& tensor) { return reinterpret_cast<std::byte*>(tensor.data()); }

/// Weights of a type; beyond 8192 rows they repeat, which no codec sees from one chunk to the next.
zp::tensor weights(const setup& s, zp::dtype type, std::size_t bytes) {
  zp::tensor out = zp::tensor::make({type, shape_of(type, bytes)}).value();
  const auto rows = static_cast<std::size_t>(out.shape()[0]);
  const std::size_t own = std::min<std::size_t>(rows, 8192);
  const std::size_t width = columns * type.size();
  std::byte* const to = out.mutable_view().data;
  // Those of 8 bits are scaled to what they hold, as all do who use them.
  const float scale = type.size() == 1 ? 1000.0F : 1.0F;
  bench::in_pieces(own * bench::pinned_blocks::block_bytes, s.pinned.count(),
                   [&](unsigned, std::size_t at, std::size_t) {
                     const std::size_t row = at / bench::pinned_blocks::block_bytes;
                     std::vector<float> values(columns);
                     bench::weights_of_row(row, columns, values.data());
                     for (float& value : values) value *= scale;
                     zp::detail::cast_elements(
                         zp::dense_view(to + row * width, zp::tensor_spec{type, {columns}}),
                         zp::dense_view(values.data(), {columns}))
                         .value();
                   });
  for (std::size_t made = own; made < rows;) {
    const std::size_t next = std::min(made, rows - made);
    bench::in_pieces(next * width, s.pinned.count(),
                     [&](unsigned, std::size_t at, std::size_t size) {
                       std::memcpy(to + made * width + at, to + at, size);
                     });
    made += next;
  }
  return out;
}

/// How the tensors of a row are stored.
enum class way { raw, blosc, blosc_alone };

/// A checkpoint of weights that are on the host, too, and tensors on the device for it.
class model {
 public:
  model(const setup& s, const zp::tensor& values, std::pair<std::size_t, std::size_t> bytes_count,
        way stored)
      : s_(s), path_(s.path("model")), from_(values.view().data), stored_(stored) {
    const auto [bytes, count] = bytes_count;
    const zp::dtype type = values.spec().type;
    spec_ = {type, shape_of(type, bytes)};
    spec_.shape[0] /= static_cast<zp::index_t>(count);
    bench::require(spec_.shape[0] > 0, "as many rows as tensors");
    each_ = static_cast<std::size_t>(spec_.shape[0]) * columns * type.size();
    std::vector<zp::leaf> leaves;
    for (std::size_t i = 0; i < count; ++i) {
      leaves.emplace_back(name(i), zp::dense_view(from_ + i * each_, spec_));
      targets_.push_back(make());
    }
    zp::save_options options{.sync = false};
    std::vector<zp::codec_spec> codecs = zp::blosc_codecs();
    if (stored == way::blosc_alone) codecs.pop_back();
    if (stored != way::raw) options.rules = {{.codecs = codecs}};
    zp::save(path_, leaves, options, s.how).value();
  }
  model(const model&) = delete;
  model& operator=(const model&) = delete;
  ~model() { fs::remove_all(path_); }

  std::size_t bytes() const { return each_ * targets_.size(); }
  const std::string& path() const { return path_; }
  static std::string name(std::size_t i) { return "layers/" + std::to_string(i); }
  tensor_any make() const { return tensor_any::make(spec_, s_.space).value(); }
  std::vector<tensor_any>& targets() { return targets_; }

  zp::result<void> try_load(bool verifies, bool on_device = false) {
    const auto from = zp::open(path_, s_.how).value();
    std::vector<zp::load_target> wanted;
    for (std::size_t i = 0; i < targets_.size(); ++i) wanted.emplace_back(name(i), targets_[i]);
    return zp::load_into_all(from, wanted, {.verify = verifies, .device_verify = on_device});
  }
  /// Ends the program where the tensors are not what was saved.
  void require_same() {
    for (std::size_t i = 0; i < targets_.size(); ++i)
      bench::require_same(s_.pinned, targets_[i].data(), from_ + i * each_, {each_, "a load"});
  }
  /// Other bytes than a load brings.
  void spoil() {
    for (tensor_any& one : targets_) s_.space.fill(one.data(), std::byte{0xa5}, each_).value();
  }
  std::uintmax_t stored_bytes() const {
    std::uintmax_t out = 0;
    for (const auto& one : fs::recursive_directory_iterator(path_))
      if (one.is_regular_file()) out += one.file_size();
    return out;
  }
  double share() const {
    return static_cast<double>(stored_bytes()) / static_cast<double>(bytes());
  }
  /// Of the ratio to a copy of the elements; and what a link that carries only stored bytes allows.
  std::string target() const {
    if (stored_ == way::raw) return ">= 0.9";
    char out[48];
    std::snprintf(out, sizeof out, "%s; at most %.2f",
                  spec_.type == zp::dtype_kind::bfloat16 ? ">= 1.3" : "none", 1 / share());
    return out;
  }
  std::string title() const {
    char out[160];
    std::snprintf(out, sizeof out, "%zu MiB of %s, %zu tensor%s, %s", bytes() >> 20,
                  std::string(zp::to_string(spec_.type)).c_str(), targets_.size(),
                  targets_.size() == 1 ? "" : "s", stored_ == way::raw ? "raw" : "blosc");
    if (stored_ == way::raw) return out;
    char part[48];
    std::snprintf(part, sizeof part, " (%.1f %% stored)", 100 * share());
    return out + std::string(part);
  }

 private:
  const setup& s_;
  std::string path_;
  const std::byte* from_;
  way stored_;
  zp::tensor_spec spec_{{}, {0}};
  std::size_t each_ = 0;
  std::vector<tensor_any> targets_;
};

/// Loads of one model, against a copy of as many elements that are pinned already.
void load_rows(const setup& s, const zp::tensor& values,
               std::pair<std::size_t, std::size_t> bytes_count, way stored) {
  const char* const row = stored == way::raw ? "G1 " : "G2 ";
  model loaded(s, values, bytes_count, stored);
  half_tensor floor =
      half_tensor::make({static_cast<zp::index_t>(loaded.bytes() / 2)}, s.space).value();
  const bool verifies = stored != way::blosc_alone;
  bench::contest what{
      .name = row + std::string("load_into_all, ") + loaded.title() +
              (verifies ? ", verified" : ", no checksums"),
      .bytes = loaded.bytes(),
      .ours = [&] { loaded.try_load(verifies).value(); },
      .floors = {{"pinned copy of the elements",
                  [&] { bench::copy_to_device(s.pinned, bytes_of(floor), loaded.bytes()); }}},
      .target = !verifies            ? "none"
                : stored == way::raw ? ">= 0.9"
                                     : ">= 1.3"};
  loaded.spoil();
  bench::run(what, s.rounds);
  loaded.require_same();
  if (stored == way::raw) {
    what.name = row + std::string("load_into_all, ") + loaded.title() + ", no checksums";
    what.ours = [&] { loaded.try_load(false).value(); };
    what.target = "none";
    bench::run(what, s.rounds);
  }
  if (stored == way::blosc) {
    what.name = row + std::string("load_into_all, ") + loaded.title() + ", verified on the device";
    what.ours = [&] { loaded.try_load(true, true).value(); };
    bench::run(what, s.rounds);
    loaded.require_same();
  }
  if (!verifies || bytes_count.second == 1) return;
  what.name = row + std::string("open, make and load_into_all, ") + loaded.title() + ", verified";
  what.ours = [&] {
    std::vector<tensor_any>& targets = loaded.targets();
    const std::size_t count = targets.size();
    targets.clear();
    for (std::size_t i = 0; i < count; ++i) targets.push_back(loaded.make());
    loaded.try_load(true).value();
  };
  if (stored == way::raw) what.target = ">= 0.85";
  bench::run(what, s.rounds);
  loaded.require_same();
}

/// G1 and G2: one tensor and many.
void load_bfloat16(const setup& s, const zp::tensor& values, bool compressed) {
  for (const std::size_t bytes : s.sizes) {
    for (const std::size_t count : {many, std::size_t{1}}) {
      load_rows(s, values, {bytes, count}, compressed ? way::blosc : way::raw);
      if (compressed && count == many) load_rows(s, values, {bytes, count}, way::blosc_alone);
    }
  }
}

/// G2 of the other types of weights, which have more stored planes or none.
void load_other_types(const setup& s) {
  for (const zp::dtype_kind kind :
       {zp::dtype_kind::float32, zp::dtype_kind::float16, zp::dtype_kind::float8_e4m3fn}) {
    const zp::tensor values = weights(s, kind, s.sizes.front());
    load_rows(s, values, {s.sizes.front(), many}, way::blosc);
    load_rows(s, values, {s.sizes.front(), 1}, way::blosc);
  }
}

/// Before any row: what a load brings, bit by bit, and what it does with files that are damaged.
void check(const setup& s) {
  const std::size_t bytes = std::min(s.bytes, std::size_t{48} << 20);
  std::size_t loads = 0;
  std::size_t refused = 0;
  std::mt19937_64 random(1);
  for (const zp::dtype_kind kind :
       {zp::dtype_kind::bfloat16, zp::dtype_kind::float32, zp::dtype_kind::float16,
        zp::dtype_kind::float8_e4m3fn, zp::dtype_kind::float64}) {
    const zp::tensor values = weights(s, kind, bytes);
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, many}) {
      if (static_cast<std::size_t>(values.shape()[0]) < count) continue;
      for (const way stored : {way::raw, way::blosc, way::blosc_alone}) {
        model loaded(s, values, {bytes, count}, stored);
        for (int turn = 0; turn < 2; ++turn) {
          loaded.spoil();
          loaded.try_load(stored != way::blosc_alone, turn == 1).value();
          loaded.require_same();
          ++loads;
        }
        // Some bytes of the first file are others: with checksums an error, without them anything
        // but a crash.
        std::vector<std::string> files;
        for (const auto& one : fs::recursive_directory_iterator(loaded.path())) {
          if (one.is_regular_file() && one.path().filename() != "zarr.json" &&
              one.file_size() > 4096)
            files.push_back(one.path().string());
        }
        bench::require(!files.empty(), "files of chunks");
        std::sort(files.begin(), files.end());
        const int fd = ::open(files.front().c_str(), O_RDWR | O_CLOEXEC);
        bench::require(fd >= 0, "open");
        const auto size = static_cast<std::size_t>(fs::file_size(files.front()));
        for (int turn = 0; turn < 4; ++turn) {
          std::byte old{};
          const auto at = static_cast<off_t>(turn == 0 ? random() % 64 : random() % size);
          bench::require(::pread(fd, &old, 1, at) == 1, "pread");
          const std::byte other = old ^ static_cast<std::byte>(1U << random() % 8);
          bench::require(::pwrite(fd, &other, 1, at) == 1, "pwrite");
          const auto outcome = loaded.try_load(stored != way::blosc_alone, turn % 2 == 1);
          bench::require(stored == way::blosc_alone || !outcome, "an error of a damaged file");
          if (!outcome) ++refused;
          bench::require(::pwrite(fd, &old, 1, at) == 1, "pwrite");
        }
        ::close(fd);
        loaded.try_load(stored != way::blosc_alone).value();
        loaded.require_same();
        ++loads;
      }
    }
  }
  bench::print_note("check: " + std::to_string(loads) + " loads the same, bit by bit; " +
                    std::to_string(refused) + " of damaged files refused");
}

/// G1 of a file that is not in the page cache, by the host and past it.
void load_cold(const setup& s, const zp::tensor& values) {
  const std::string path = s.path("cold");
  zp::save(path, {{"w", values}}, {.sync = false}, s.how).value();
  const std::string file = path + "/w/c.0.0";
  half_tensor target = half_tensor::make(values.shape(), s.space).value();
  const auto disk = [&] { bench::read_file(s.pinned, file, s.bytes); };
  bench::run({.name = "G1 load_into, raw, not in the page cache, verified",
              .bytes = s.bytes,
              .ours = [&] { zp::open(path, s.how).value().load_into("w", target).value(); },
              .floors = {{"pread", disk}},
              .target = ">= 0.9",
              .before = [&] { bench::forget_file(file); }},
             s.rounds);
  const zp::cufile_loader direct = zp::cufile_loader::find();
  if (!direct.available())
    return bench::print_note("G1 by cuFile: not measured, " + direct.why_not());
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
  if (!way.direct) bench::print_note("(which went the plain way: " + way.why_not + ")");
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
    bench::require_same(s.pinned, bytes_of(targets[i]), values[i].view().data,
                        {targets[i].size() * 2, "load_into_all"});
}

/// G4: from the device to the page cache, and how long the caller waits.
void save_big(const setup& s, const zp::tensor& values) {
  half_tensor source = half_tensor::make(values.shape(), s.space).value();
  source.upload({reinterpret_cast<const zp::bfloat16*>(values.view().data), source.size()}).value();
  const std::string path = s.path("saved");
  const std::string file = s.folder + "/floor.bin";
  const std::pair<std::string, std::function<void()>> link{
      "pinned copy", [&] { bench::copy_to_host(s.pinned, bytes_of(source), s.bytes); }};
  const std::pair<std::string, std::function<void()>> memory{
      "new memory, filled", [&] { bench::fill_new_memory(s.pinned, s.bytes); }};
  const auto save = [&] {
    zp::save(path, {zp::leaf("w", source)}, {.sync = false}, s.how).value();
  };
  const double first = bench::seconds_of(save);
  bench::run({"G4 save, raw, in all",
              s.bytes,
              save,
              {link, {"write of a new file", [&] { bench::write_file(s.pinned, file, s.bytes); }}},
              ">= 0.85"},
             s.rounds);
  fs::remove(file);
  std::optional<zp::pending<zp::save_report>> under_way;
  double blocked = 0;
  for (const bool device_copy : {false, true}) {
    bench::run(
        {.name = std::string("G4 save_async, until the call returns") +
                 (device_copy ? ", copied on the device first" : ", by the host"),
         .bytes = s.bytes,
         .ours =
             [&] {
               std::vector<zp::leaf> leaves;
               leaves.emplace_back("w", source);
               under_way.emplace(zp::save_async(
                   path, std::move(leaves), {.sync = false, .device_copy = device_copy}, s.how));
             },
         .floors = device_copy ? std::vector{link} : std::vector{link, memory},
         .target = ">= 0.9",
         .after = [&] { blocked = std::move(*under_way).get().value().blocked_seconds; },
         .first_counts = true},
        s.rounds);
    char told[80];
    std::snprintf(told, sizeof told, "(its report says: blocked for %.1f ms)", blocked * 1e3);
    bench::print_note(told);
  }
  const auto saved = zp::open(path, s.how).value().load<zp::tensor>("w").value();
  bench::require(std::memcmp(saved.view().data, values.view().data, s.bytes) == 0, "save");
  char told[80];
  std::snprintf(told, sizeof told, "(the first save, which pins the ring, took %.1f ms)",
                first * 1e3);
  bench::print_note(told);
  fs::remove_all(path);
}

/// G4: compressed, with the host's encoder, and with the device's.
void save_compressed(const setup& s, const zp::tensor& values) {
  half_tensor source = half_tensor::make(values.shape(), s.space).value();
  source.upload({reinterpret_cast<const zp::bfloat16*>(values.view().data), source.size()}).value();
  const std::string path = s.path("saved");
  for (const bool encodes : {false, true}) {
    const zp::save_options options{
        .rules = {{.codecs = zp::blosc_codecs()}}, .sync = false, .device_encode = encodes};
    bench::run({.name = std::string("G4 save, compressed, encoded ") +
                        (encodes ? "on the device" : "by the host"),
                .bytes = s.bytes,
                .ours = [&] { zp::save(path, {zp::leaf("w", source)}, options, s.how).value(); },
                .floors = {{"pinned copy of the elements",
                            [&] { bench::copy_to_host(s.pinned, bytes_of(source), s.bytes); }}},
                .target = "none"},
               s.rounds);
    const auto saved = zp::open(path, s.how).value().load<zp::tensor>("w").value();
    bench::require(std::memcmp(saved.view().data, values.view().data, s.bytes) == 0,
                   "a compressed save");
  }
  fs::remove_all(path);
}

/// G5: an eighth of the rows, and of the columns, as one GPU of eight takes them.
void load_boxes(const setup& s, const zp::tensor& values, bool compressed) {
  const zp::dims shape = values.shape();
  const zp::dims chunk{std::min<zp::index_t>(1024, shape[0]), 512};
  zp::leaf_rule rule{.chunk_shape = chunk, .shard_shape = shape};
  if (compressed) rule.codecs = zp::blosc_codecs();
  zp::save(s.path("boxes"), {{"w", values}}, {.rules = {rule}, .sync = false}, s.how).value();
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
    const auto read = [&] {
      zp::detail::device_read<device_space> reading(
          from, zp::handler_of<half_tensor>::writable(target), {.how = &s.how});
      s.space.wait(reading.start(part).value()).value();
    };
    bench::run(
        {std::string(axis == 0 ? "G5 an eighth of the rows" : "G5 an eighth of the columns") +
             (compressed ? ", blosc" : ""),
         bytes,
         read,
         {{"pinned copy of rows",
           [&] {
             const auto rows = static_cast<std::size_t>(part.shape[0]);
             for (std::size_t i = 0; i < rows; i += rows_at_once) {
               const zp::row_block block{width, std::min(rows_at_once, rows - i), width, pitch};
               s.space.copy_from_host(bytes_of(target) + i * width, s.pinned[i], block).value();
             }
             zp::detail::wait_for_stream(s.space).value();
           }}},
         compressed ? "none" : ">= 0.85"},
        s.rounds);
    s.space.fill(bytes_of(target), std::byte{0xa5}, bytes).value();
    read();
    const zp::tensor expected = from.read(part).value();
    bench::require_same(s.pinned, bytes_of(target), expected.view().data, {bytes, "a box"});
  }
  fs::remove_all(s.path("boxes"));
}

/// G6: kernels over data that are on the device, against the link that they hide behind.
void run_kernels(const setup& s) {
  if (!zp::has_kernels(s.space)) return bench::print_note("G6: not measured, there are no kernels");
  constexpr int times = 8;
  const zp::dims shape = shape_of(zp::dtype_kind::bfloat16, s.bytes);
  half_tensor from = half_tensor::make(shape, s.space).value();
  half_tensor to = half_tensor::make(shape, s.space).value();
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
    bench::run({.name = std::string("G6 kernel ") + name,
                .bytes = s.bytes * times,
                .ours = work,
                .floors = {{"pinned copy", link}, {"copy on the device", within}},
                .target = ">= 3",
                .first_counts = true},
               s.rounds);
  }
}

/// G8: elements that are on the device already, counted and encoded by its kernels alone.
void run_encode(const setup& s, const zp::tensor& values) {
  if (!zp::has_kernels(s.space)) return bench::print_note("G8: not measured, there are no kernels");
  const std::size_t bytes = std::min(s.bytes, std::size_t{1} << 30);
  for (const zp::dtype_kind kind : {zp::dtype_kind::bfloat16, zp::dtype_kind::float32,
                                    zp::dtype_kind::float16, zp::dtype_kind::float8_e4m3fn}) {
    const bool is_first = kind == zp::dtype_kind::bfloat16;
    const zp::tensor made = is_first ? zp::tensor() : weights(s, kind, bytes);
    const zp::host_view from = is_first ? values.view() : made.view();
    bench::elements_on_device elements(s.space, {from.data, bytes}, from.type.size());
    for (const bool counts : {true, false}) {
      char told[120];
      std::snprintf(
          told, sizeof told, "G8 %s alone, %.*s (%.1f %% stored)", counts ? "count" : "encode",
          static_cast<int>(to_string(from.type).size()), to_string(from.type).data(),
          100 * static_cast<double>(elements.stored()) / static_cast<double>(elements.bytes()));
      bench::run(
          {.name = told,
           .bytes = elements.bytes(),
           .ours =
               [&] {
                 counts ? elements.count() : elements.encode();
                 zp::detail::wait_for_stream(s.space).value();
               },
           .floors = {{"copy to the host of what is stored", [&] { elements.copy(s.pinned); }}},
           .target = "none"},
          s.rounds);
    }
    elements.check();
  }
}

/// G7: stored bytes that are on the device already, decoded by its kernels alone, and compared with
/// their checksums. Both are told in bytes of elements.
void run_decode(const setup& s, const zp::tensor& values) {
  if (!zp::has_kernels(s.space)) return bench::print_note("G7: not measured, there are no kernels");
  const std::size_t bytes = std::min(s.bytes, std::size_t{1} << 30);
  half_tensor to = half_tensor::make(shape_of(zp::dtype_kind::bfloat16, bytes), s.space).value();
  for (const zp::dtype_kind kind : {zp::dtype_kind::bfloat16, zp::dtype_kind::float32,
                                    zp::dtype_kind::float16, zp::dtype_kind::float8_e4m3fn}) {
    const bool is_first = kind == zp::dtype_kind::bfloat16;
    const zp::tensor made = is_first ? zp::tensor() : weights(s, kind, bytes);
    const zp::host_view from = is_first ? values.view() : made.view();
    bench::frames_on_device frames(s.space, {from.data, bytes}, from.type.size());
    const auto wait = [&] { zp::detail::wait_for_stream(s.space).value(); };
    for (const std::size_t launches : {std::size_t{1}, frames.chunks() / 8}) {
      if (launches == 0) continue;
      const std::size_t each = frames.chunks() / launches;
      char told[120];
      std::snprintf(told, sizeof told, "G7 decode alone, %.*s (%.1f %% stored), %zu launches",
                    static_cast<int>(to_string(from.type).size()), to_string(from.type).data(),
                    100 * static_cast<double>(frames.stored()) / static_cast<double>(bytes),
                    launches);
      bench::contest what{
          .name = told,
          .bytes = each * launches * bench::frames_on_device::chunk_bytes,
          .ours =
              [&] {
                for (std::size_t i = 0; i < launches; ++i) frames.decode(s.space, i * each, each);
                wait();
              },
          .floors = {{"pinned copy of the elements",
                      [&] { bench::copy_to_device(s.pinned, bytes_of(to), bytes); }}},
          .target = launches == 1 ? ">= 3" : "none"};
      bench::run(what, s.rounds);
      if (!is_first) continue;
      what.name = "G7 checksums of what is stored alone, " + std::to_string(launches) + " launches";
      what.ours = [&] {
        for (std::size_t i = 0; i < launches; ++i) frames.compare(s.space, i * each, each);
        wait();
      };
      bench::run(what, s.rounds);
    }
    frames.check();
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
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
  std::vector<std::size_t> sizes;
  for (const std::string& one : words_of(argc > 2 ? argv[2] : "1024,4096")) {
    sizes.push_back(static_cast<std::size_t>(std::strtoull(one.c_str(), nullptr, 10)) << 20);
    bench::require(sizes.back() != 0, "a number of MEGABYTES");
  }
  const setup s{.folder = argv[1],
                .sizes = sizes,
                .bytes = *std::max_element(sizes.begin(), sizes.end()),
                .tensors = number(3, 18867),
                .rounds = static_cast<int>(number(4, 7)),
                .how = zp::with_scratch(how),
                .space = space,
                .pinned = pinned};
  fs::create_directories(s.folder);
  std::printf("%s MiB, %u threads, %d rounds, device %d%s\n\n", argc > 2 ? argv[2] : "1024,4096",
              threads, s.rounds, device, bench::gpu_note());
  bench::print_head();
  const std::string all = "check,G1,cold,G2,types,G3,G4,G5,G6,G7,G8";
  const std::vector<std::string> rows = words_of(argc > 7 ? argv[7] : all);
  const auto wanted = [&](std::string_view row) {
    return std::find(rows.begin(), rows.end(), row) != rows.end();
  };
  if (wanted("check")) check(s);
  const zp::tensor values = weights(s, zp::dtype_kind::bfloat16, s.bytes);
  if (wanted("G1")) load_bfloat16(s, values, false);
  if (wanted("G2")) load_bfloat16(s, values, true);
  if (wanted("types")) load_other_types(s);
  if (wanted("G7")) run_decode(s, values);
  if (wanted("G8")) run_encode(s, values);
  if (wanted("G5")) load_boxes(s, values, false);
  if (wanted("G5")) load_boxes(s, values, true);
  if (wanted("G4")) save_big(s, values);
  if (wanted("G4")) save_compressed(s, values);
  if (wanted("G3")) load_small(s);
  if (wanted("G6")) run_kernels(s);
  if (wanted("cold")) load_cold(s, values);
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
