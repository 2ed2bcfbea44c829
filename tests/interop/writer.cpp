// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// writer FOLDER: saves checkpoints of every dtype, several shapes and layouts, and a safetensors
// file, and says in index.json what they must contain.

#include <zarrpoint/core/types/visit.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/members.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "exchange.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

namespace {

constexpr std::array core_dtypes{
    zp::dtype_kind::bool_,     zp::dtype_kind::int8,       zp::dtype_kind::int16,
    zp::dtype_kind::int32,     zp::dtype_kind::int64,      zp::dtype_kind::uint8,
    zp::dtype_kind::uint16,    zp::dtype_kind::uint32,     zp::dtype_kind::uint64,
    zp::dtype_kind::float16,   zp::dtype_kind::float32,    zp::dtype_kind::float64,
    zp::dtype_kind::complex64, zp::dtype_kind::complex128, zp::dtype_kind::string};
constexpr std::array small_floats{zp::dtype_kind::bfloat16, zp::dtype_kind::float8_e4m3fn,
                                  zp::dtype_kind::float8_e5m2};

/// A group of two arrays.
struct quantized {
  std::vector<std::int8_t> q;
  float scale;
  friend auto zarrpoint_members(quantized& v) { return zp::members("q", v.q, "scale", v.scale); }
};

struct named_tensor {
  std::string name;
  zp::tensor value;
};

class writer {
 public:
  explicit writer(std::string folder) : folder_(std::move(folder)) {}

  void run() {
    const std::vector<named_tensor> core = tensors(core_dtypes);
    const std::vector<named_tensor> small = tensors(small_floats);
    const zp::leaf_rule sharded{.chunk_shape = zp::dims{2, 3}, .shard_shape = zp::dims{4, 6}};
    zp::leaf_rule compressed = sharded;
    compressed.glob = "*/matrix";
    compressed.codecs = zp::zstd_codecs(3);
    zp::leaf_rule raw = sharded;
    raw.glob = "*/matrix";

    zp::leaf_rule v2_compressed{.glob = "*/matrix", .codecs = zp::zstd_codecs(3)};

    const quantized members{{1, -2, 3}, 0.5F};
    zp::save(folder_ + "/v3-members.zarr", {{"w", members}}).value();
    save_attributes();
    save("v3-core.zarr", core, {});
    save("v3-small.zarr", small, {});
    save("v3-core-sharded.zarr", core, {.rules = {raw}});
    save("v3-small-sharded.zarr", small, {.rules = {raw}});
    save("v3-core-zstd.zarr", core, {.rules = {compressed}});
    save("v3-small-zstd.zarr", small, {.rules = {compressed}});
    save("v3-core-elided.zarr", core, {.rules = {compressed}, .elide_fill = true});
    save("v2-core.zarr", core, {.zarr_format = 2});
    save("v2-core-zstd.zarr", core, {.zarr_format = 2, .rules = {v2_compressed}});
    save("v2-small.zarr", small, {.zarr_format = 2});
    save_blosc();
    save_weights();
    save_steps("run");
    save_zip("v3-zip.zarr.zip", core, {.rules = {compressed}});
    save_zip("v2-zip.zarr.zip", core, {.zarr_format = 2});
    save_hierarchy("v3-hierarchy.zarr", 3);
    save_hierarchy("v2-hierarchy.zarr", 2);
    save_hierarchy("migrated.zarr", 2, true);
    save_safetensors("ours.safetensors", core);
    save_each_type();

    const zp::json index(zp::json::object{{"arrays", std::move(arrays_)},
                                          {"groups", std::move(groups_)},
                                          {"zips", std::move(zips_)},
                                          {"hierarchies", std::move(hierarchies_)},
                                          {"types", std::move(types_)},
                                          {"safetensors", std::move(files_)}});
    exchange::write_file(folder_ + "/index.json", zp::dump_json(index, zp::json_style::pretty));
  }

 private:
  /// Attributes of the root, of groups with leaves and without, and of leaves.
  void save_attributes() {
    const std::vector<float> w{1, 2};
    for (const int format : {2, 3}) {
      for (const bool consolidated : {false, true}) {
        const std::vector<zp::leaf> leaves{
            {"layers/0/w", w}, {"layers/1/w", w}, zp::leaf::empty_group("e")};
        const zp::save_options options{
            .zarr_format = format,
            .consolidated_metadata = consolidated,
            .attributes = zp::json::object{{"optimizer", "adam"}},
            .attributes_of = {{"layers/0", zp::json::object{{"layer", 0}}},
                              {"e", zp::json::object{{"why", zp::json()}}},
                              {"layers/0/w", zp::json::object{{"unit", "m"}}}}};
        zp::save(folder_ + "/v" + std::to_string(format) + "-attributes" +
                     (consolidated ? "-consolidated" : "") + ".zarr",
                 leaves, options)
            .value();
      }
    }
  }

  /// Elements of which some bytes are noise and the others are not, in one block and in several,
  /// with a short last one, and in numbers that are not multiples of 8.
  void save_blosc() {
    constexpr std::array kinds{zp::dtype_kind::uint8, zp::dtype_kind::int16,
                               zp::dtype_kind::float32, zp::dtype_kind::float64,
                               zp::dtype_kind::complex128};
    for (const char* const cname : {"zstd", "lz4", "lz4hc", "blosclz"}) {
      for (const char* const shuffle : {"noshuffle", "shuffle", "bitshuffle"}) {
        for (const int block_size : {0, 4096}) {
          std::vector<named_tensor> tensors;
          for (const zp::dtype_kind kind : kinds) {
            for (const zp::index_t count : {40, 1003, 10'008}) {
              zp::tensor values = random_tensor(kind, {count});
              const zp::mutable_host_view view = values.mutable_view();
              const std::size_t size = zp::dtype(kind).size();
              for (std::size_t i = 0; i < values.size() * size; ++i)
                if (i % size >= size / 2) view.data[i] = static_cast<std::byte>(i / size % 300 / 9);
              tensors.push_back(
                  {std::string(to_string(kind)) + '-' + std::to_string(count), std::move(values)});
            }
          }
          zp::json::object options{
              {"cname", cname}, {"clevel", 1}, {"shuffle", shuffle}, {"blocksize", block_size}};
          const std::string name = std::string("blosc-") + cname + '-' + shuffle + '-' +
                                   std::to_string(block_size) + ".zarr";
          const auto codecs = [&] {
            return std::vector<zp::codec_spec>{zp::raw_codecs().front(), {"blosc", options}};
          };
          save("v2-" + name, tensors, {.zarr_format = 2, .rules = {{.codecs = codecs()}}});
          const zp::leaf_rule in_shards{.chunk_shape = zp::dims{1001}, .codecs = codecs()};
          save("v3-sharded-" + name, tensors, {.rules = {in_shards}});
          options.push_back({"typesize", 24});  // above 16 bytes, blocks are never split
          save("v3-wide-" + name, tensors, {.rules = {{.codecs = codecs()}}});
        }
      }
    }
  }

  /// Weights, as the chain for them stores them: planes of noise, and of Huffman codes in several
  /// blocks of zstd; in chunks of 1 MiB and a last one that sticks out.
  void save_weights() {
    std::normal_distribution<float> normal(0, 0.03F);
    std::vector<named_tensor> tensors;
    for (const zp::dtype_kind kind : {zp::dtype_kind::float32, zp::dtype_kind::uint16}) {
      zp::tensor values = zp::tensor::make({kind, {700, 1000}}).value();
      const zp::mutable_host_view view = values.mutable_view();
      const std::size_t size = values.type().size();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float value = normal(random_);  // its upper half is a bfloat16
        std::memcpy(view.data + i * size, reinterpret_cast<const std::byte*>(&value) + 4 - size,
                    size);
      }
      tensors.push_back({std::string(to_string(kind)), std::move(values)});
    }
    save("v3-weights.zarr", tensors, {.rules = {{.codecs = zp::blosc_codecs()}}});
    save("v2-weights.zarr", tensors, {.zarr_format = 2, .rules = {{.codecs = zp::blosc_codecs()}}});
  }

  /// A tensor of random bits, so that NaN payloads and subnormal numbers are among the values.
  zp::tensor random_tensor(zp::dtype type, const zp::dims& shape) {
    zp::tensor out = zp::tensor::make({type, shape}).value();
    if (type.is_variable()) {
      std::size_t i = 0;
      for (std::string& text : out.data<std::string>()) {
        text = std::string(i % 3 * 7, 'x') + " snow \u2603 \"" + std::to_string(i) + "\"\n";
        ++i;
      }
      return out;
    }
    const zp::mutable_host_view view = out.mutable_view();
    for (std::size_t i = 0; i < out.size() * type.size(); ++i) {
      const auto bits = random_();
      view.data[i] = static_cast<std::byte>(type == zp::dtype_kind::bool_ ? bits & 1U : bits);
    }
    return out;
  }

  template <std::size_t N>
  std::vector<named_tensor> tensors(const std::array<zp::dtype_kind, N>& kinds) {
    std::vector<named_tensor> out;
    for (const zp::dtype type : kinds) {
      const std::string name(to_string(type));
      out.push_back({name + "/matrix", random_tensor(type, {7, 10})});
      out.push_back({name + "/cube", random_tensor(type, {3, 1, 5})});
      out.push_back({name + "/scalar", random_tensor(type, {})});
      out.push_back({name + "/empty", random_tensor(type, {0, 3})});
      // An absent shard, where fill values are left out.
      for (std::size_t i = 0; i < 40 && !type.is_variable(); ++i) {
        auto first = out[out.size() - 4].value.mutable_view();
        first.data[i * type.size()] = std::byte{0};
      }
    }
    return out;
  }

  /// In one file, which the peers open as a store.
  void save_zip(const std::string& path, const std::vector<named_tensor>& tensors,
                const zp::save_options& options) {
    std::vector<zp::leaf> leaves;
    zp::json::array arrays;
    for (const named_tensor& each : tensors) {
      leaves.emplace_back(each.name, each.value.view());
      arrays.push_back(zp::json::object{{"name", each.name},
                                        {"dtype", std::string(to_string(each.value.type()))},
                                        {"expected", expect(each.value)}});
    }
    zp::save(folder_ + "/" + path, leaves, options).value();
    zips_.push_back(zp::json::object{
        {"path", path}, {"zarr_format", options.zarr_format}, {"arrays", std::move(arrays)}});
  }

  /// Groups and arrays that were made, renamed, copied, erased, and consolidated in the end.
  void save_hierarchy(const std::string& path, int zarr_format, bool migrated = false) {
    const auto store = zp::file_store::open(folder_ + "/" + path, {.create = true}).value();
    const zp::json attributes(zp::json::object{{"title", "hierarchy"}, {"n", 3}});
    const auto root =
        zp::group::create(store, zp::store_key::root(), {zarr_format, attributes}).value();
    const zp::tensor value = random_tensor(zp::dtype_kind::int32, {4, 6});
    zp::array_metadata metadata;
    metadata.zarr_format = zarr_format;
    metadata.shape = value.shape();
    metadata.type = value.type();
    metadata.chunk_shape = {2, 3};
    metadata.fill = zp::fill_value::zero(metadata.type);
    metadata.codecs = zp::raw_codecs();
    if (zarr_format == 2) metadata.keys = {zp::chunk_key_encoding::style::v2, '.'};
    const auto made = root.create_array("first/a", metadata).value();
    made.write(zp::box::whole(value.shape()), value.view()).value();
    root.set_attributes("first/a", zp::json::object{{"unit", "m"}}).value();
    root.rename("first", "moved/first").value();
    root.copy("moved/first", root, "copied").value();
    root.copy("moved", root, "gone").value();
    root.erase("gone").value();
    if (migrated) zp::migrate_to_v3(store, zp::store_key::root(), {.remove_v2 = true}).value();
    zp::group::open(store).value().consolidate().value();
    hierarchies_.push_back(zp::json::object{
        {"path", path},
        {"zarr_format", migrated ? 3 : zarr_format},
        {"attributes", attributes},
        {"members", zp::json::array{"copied", "copied/a", "moved", "moved/first", "moved/first/a"}},
        {"arrays", zp::json::array{"copied/a", "moved/first/a"}},
        {"expected", expect(value)}});
  }

  static zp::json shape_json(const zp::dims& shape) {
    zp::json::array extents;
    for (const zp::index_t extent : shape) extents.emplace_back(extent);
    return extents;
  }

  /// Writes what a tensor holds, and returns the name of that file.
  std::string expect(const zp::tensor& value) {
    const std::string name =
        std::to_string(++files_written_) + (value.type().is_variable() ? ".json" : ".bin");
    exchange::write_file(folder_ + "/" + name, exchange::content(value));
    return name;
  }

  void save(const std::string& path, const std::vector<named_tensor>& tensors,
            const zp::save_options& options) {
    std::vector<zp::leaf> leaves;
    for (const named_tensor& each : tensors) leaves.emplace_back(each.name, each.value.view());
    zp::save(folder_ + "/" + path, leaves, options).value();
    expect_checkpoint(path, tensors, options.zarr_format);
  }

  /// A step that shares what did not change with the one before, which is gone.
  void save_steps(const std::string& path) {
    std::vector<named_tensor> tensors;
    std::vector<zp::leaf> leaves;
    const auto fill = [](zp::tensor& of, float value) {
      for (std::size_t i = 0; i < of.size(); ++i, value += 1)
        std::memcpy(of.mutable_view().data + sizeof value * i, &value, sizeof value);
    };
    for (const char* const name : {"same", "changed"}) {
      tensors.push_back({name, zp::tensor::make({zp::dtype_kind::float32, {50, 100}}).value()});
      fill(tensors.back().value, 0);
    }
    for (const named_tensor& each : tensors) leaves.emplace_back(each.name, each.value.view());
    auto manager =
        zp::checkpoint_manager::open(folder_ + "/" + path,
                                     {.keep = zp::keep_policy::newest(1), .share_unchanged = true})
            .value();
    for (const std::int64_t step : {1, 2}) {
      fill(tensors.back().value, static_cast<float>(step));
      manager.save(step, leaves).value();
      manager.wait().value();
    }
    manager.close().value();
    if (manager.last_report().value().shared_bytes != 20'000 ||
        manager.steps() != std::vector<std::int64_t>{2})
      throw std::runtime_error(path + ": nothing is shared with a step that is gone");
    expect_checkpoint(path + "/step_00000002", tensors, 3);
  }

  void expect_checkpoint(const std::string& path, const std::vector<named_tensor>& tensors,
                         int zarr_format) {
    zp::json::array names;
    zp::json::object shapes;
    bool core = true;
    for (const named_tensor& each : tensors) {
      names.emplace_back(each.name);
      shapes.push_back({each.name, shape_json(each.value.shape())});
      core = core && each.name.find("float8") == each.name.npos &&
             each.name.find("bfloat") == each.name.npos;
      arrays_.push_back(zp::json::object{
          {"path", path + "/" + each.name},
          {"dtype", std::string(to_string(each.value.type()))},
          {"shape", shape_json(each.value.shape())},
          {"zarr_format", zarr_format},
          {"expected", expect(each.value)},
      });
    }
    if (!core) return;  // zarr-python opens no group with dtypes that it does not know
    groups_.push_back(zp::json::object{{"path", path},
                                       {"leaves", std::move(names)},
                                       {"shapes", std::move(shapes)},
                                       {"consolidated", zarr_format == 3}});
  }

  static zp::dtype any_type_of(zp::dtype_kind kind) {
    switch (kind) {
      case zp::dtype_kind::raw: return zp::dtype::raw_bytes(4);
      case zp::dtype_kind::null_terminated_bytes: return zp::dtype::null_terminated(4);
      case zp::dtype_kind::fixed_length_utf32: return zp::dtype::utf32(3);
      case zp::dtype_kind::datetime64: return zp::dtype::datetime(zp::time_unit::ns);
      case zp::dtype_kind::timedelta64: return zp::dtype::timedelta(zp::time_unit::ns);
      case zp::dtype_kind::record:
        return zp::make_record({{"x", zp::dtype_kind::int32}, {"y", zp::dtype_kind::float64}})
            .value();
      default: return kind;
    }
  }

  /// A leaf of every data type, and whether the report said that zarr-python cannot open it.
  void save_each_type() {
    for (const int format : {2, 3}) {
      for (int kind = 1; kind <= static_cast<int>(zp::dtype_kind::record); ++kind) {
        const zp::dtype type = any_type_of(static_cast<zp::dtype_kind>(kind));
        zp::tensor value = zp::tensor::make({type, {3}}).value();
        if (!type.is_variable())
          std::memset(value.mutable_view().data, 0, 3 * zp::memory_size(type));
        const std::string path =
            "types-v" + std::to_string(format) + "-" + std::to_string(kind) + ".zarr";
        const auto saved =
            zp::save(folder_ + "/" + path, {{"x", value.view()}}, {.zarr_format = format});
        if (!saved && saved.failure().code == zp::errc::unsupported) continue;  // by Zarr v2
        types_.push_back(zp::json::object{{"path", path + "/x"},
                                          {"dtype", std::string(to_string(type))},
                                          {"zarr_format", format},
                                          {"warned", !saved.value().warnings.empty()}});
      }
    }
  }

  void save_safetensors(const std::string& path, const std::vector<named_tensor>& tensors) {
    std::vector<zp::safetensors::named_view> views;
    zp::json::array entries;
    for (const named_tensor& each : tensors) {
      if (each.value.type().is_variable() || each.value.type().is_complex()) continue;
      views.push_back({each.name, each.value.view()});
      entries.push_back(zp::json::object{{"name", each.name}, {"expected", expect(each.value)}});
    }
    zp::safetensors::save(folder_ + "/" + path, views).value();
    files_.push_back(zp::json::object{{"path", path}, {"tensors", std::move(entries)}});
  }

  std::string folder_;
  std::mt19937_64 random_{7};
  int files_written_ = 0;
  zp::json::array arrays_;
  zp::json::array groups_;
  zp::json::array zips_;
  zp::json::array hierarchies_;
  zp::json::array types_;
  zp::json::array files_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: writer FOLDER\n", stderr), 2;
  try {
    writer(argv[1]).run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "writer: %s\n", failure.what());
    return 1;
  }
  return 0;
}
