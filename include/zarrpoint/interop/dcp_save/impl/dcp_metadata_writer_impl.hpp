// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp_save/dcp_metadata_writer.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

namespace detail {

/// Objects of Python that are one are written once and then named again, as pickle does.
class metadata_pickler {
 public:
  explicit metadata_pickler(metadata_style style)
      : is_megatrons_(style == metadata_style::torch_dist) {}

  result<std::string> write(const metadata& from) {
    global(of_metadata, "Metadata");
    to_.object();
    std::vector<std::string_view> names{"state_dict_metadata", "planner_data", "storage_data",
                                        "storage_meta", "version"};
    if (is_megatrons_) names.emplace_back("mcore_data");
    ZARRPOINT_CHECK(attributes(names, [&](std::size_t i) -> result<void> {
      if (i == 0) return write_entries(from);
      if (i == 1) return write_paths(from);
      if (i == 2) return write_items(from);
      // Where there is none, PyTorch makes one.
      if (i == 3) return to_.none(), result<void>();
      if (i == 4) return text("1.0.0");
      return write_flattened(from);
    }));
    return std::move(to_).finish();
  }

 private:
  static constexpr std::string_view of_metadata = "torch.distributed.checkpoint.metadata";

  /// Texts and globals that were written, by kind and name.
  template <class F>
  result<void> once(std::string key, const F& write) {
    const auto found = places_.find(key);
    if (found != places_.end()) return to_.again(found->second), result<void>();
    ZARRPOINT_CHECK(write());
    places_.emplace(std::move(key), to_.place());
    return {};
  }

  result<void> text(std::string_view what) {
    return once("t" + std::string(what), [&] { return to_.string(what); });
  }

  void global(std::string_view module, std::string_view name) {
    // It cannot fail: what it does has no error.
    static_cast<void>(once("g" + std::string(module) + "\n" + std::string(name),
                           [&] { return to_.global(module, name), result<void>(); }));
  }

  /// The state of the object before.
  template <class F>
  result<void> attributes(const std::vector<std::string_view>& names, const F& each) {
    ZARRPOINT_CHECK(to_.dict(names.size(), [&](std::size_t i) -> result<void> {
      ZARRPOINT_CHECK(text(names[i]));
      return each(i);
    }));
    to_.build();
    return {};
  }

  void size(const dims& of) {
    global("torch", "Size");
    // Numbers have no errors.
    static_cast<void>(to_.tuple(1, [&](std::size_t) {
      return to_.tuple(of.rank(),
                       [&](std::size_t d) { return to_.integer(of[d]), result<void>(); });
    }));
    to_.reduce();
  }

  result<void> write_entries(const metadata& from) {
    const std::size_t values = from.values.size();
    return to_.dict(values + from.tensors.size(), [&](std::size_t i) -> result<void> {
      if (i >= values) {
        const tensor_entry& tensor = from.tensors[i - values];
        ZARRPOINT_CHECK(text(tensor.name));
        return write_tensor(tensor).at("the tensor " + v0::detail::in_quotes(tensor.name));
      }
      ZARRPOINT_CHECK(text(from.values[i].name));
      global(of_metadata, "BytesStorageMetadata");
      to_.object();
      return {};
    });
  }

  result<void> write_tensor(const tensor_entry& of) {
    const auto type = torch::dtype_name(of.spec.type.kind());
    if (!type)
      return error{errc::unsupported,
                   "PyTorch has no tensors of " + std::string(to_string(of.spec.type))};
    if (of.unflattened && !is_megatrons_)
      return error{errc::unsupported, "flattened cells of Megatron-Core are not written"};
    global(of_metadata, "TensorStorageMetadata");
    to_.object();
    return attributes({"properties", "size", "chunks"}, [&](std::size_t i) -> result<void> {
      if (i == 0) return write_properties(*type);
      if (i == 1) return size(of.spec.shape), result<void>();
      return to_.list(of.chunks.size(), [&](std::size_t c) -> result<void> {
        global(of_metadata, "ChunkStorageMetadata");
        to_.object();
        const box& at = of.chunks[c].at;
        return attributes({"offsets", "sizes"}, [&](std::size_t part) -> result<void> {
          return size(part == 0 ? at.offset : at.shape), result<void>();
        });
      });
    });
  }

  /// The state of five fields, which is what PyTorch had: 2.15 writes a sixth, takes both, and does
  /// not use it.
  result<void> write_properties(std::string_view type) {
    global(of_metadata, "TensorProperties");
    to_.object();
    ZARRPOINT_CHECK(to_.tuple(5, [&](std::size_t i) -> result<void> {
      if (i == 0) return global("torch", type), result<void>();
      if (i == 1)
        return once("layout", [&]() -> result<void> {
          to_.global("torch.serialization", "_get_layout");
          ZARRPOINT_CHECK(to_.tuple(1, [&](std::size_t) { return to_.string("torch.strided"); }));
          return to_.reduce(), result<void>();
        });
      if (i == 3)
        return once("format", [&]() -> result<void> {
          global(of_metadata, "_MEM_FORMAT_ENCODING");
          ZARRPOINT_CHECK(
              to_.tuple(1, [&](std::size_t) { return to_.integer(0), result<void>(); }));
          return to_.reduce(), result<void>();
        });
      return to_.boolean(false), result<void>();
    }));
    to_.build();
    return {};
  }

  /// Of each tensor what Megatron-Core knows: of one that it flattened the shape.
  result<void> write_flattened(const metadata& from) {
    return to_.dict(from.tensors.size(), [&](std::size_t i) -> result<void> {
      const tensor_entry& tensor = from.tensors[i];
      ZARRPOINT_CHECK(text(tensor.name));
      return to_.dict(tensor.unflattened ? 1 : 0, [&](std::size_t) -> result<void> {
        ZARRPOINT_CHECK(text("nd_reformulated_orig_global_shape"));
        const dims& shape = *tensor.unflattened;
        return to_.tuple(shape.rank(),
                         [&](std::size_t d) { return to_.integer(shape[d]), result<void>(); });
      });
    });
  }

  result<void> write_paths(const metadata& from) {
    const std::size_t values = from.values.size();
    // Megatron-Core finds all by its name.
    if (is_megatrons_) return to_.none(), result<void>();
    return to_.dict(values + from.tensors.size(), [&](std::size_t i) -> result<void> {
      const bool is_value = i < values;
      const std::string& name = is_value ? from.values[i].name : from.tensors[i - values].name;
      const auto& path = is_value ? from.values[i].path : from.tensors[i - values].path;
      ZARRPOINT_CHECK(text(name));
      if (path.empty()) return to_.tuple(1, [&](std::size_t) { return text(name); });
      return to_.tuple(path.size(), [&](std::size_t k) -> result<void> {
        if (!path[k].is_index) return text(path[k].text);
        std::int64_t index = 0;
        const char* const end = path[k].text.data() + path[k].text.size();
        const auto read = std::from_chars(path[k].text.data(), end, index);
        if (read.ptr != end || read.ec != std::errc())
          return error{errc::invalid_argument, "the index " + v0::detail::in_quotes(path[k].text) +
                                                   " in the path of " +
                                                   v0::detail::in_quotes(name)};
        return to_.integer(index), result<void>();
      });
    });
  }

  result<void> write_items(const metadata& from) {
    struct item {
      const std::string* name;
      const stored_item* from;
      const box* at;      ///< null for a value
      std::size_t index;  ///< of the box
    };
    std::vector<item> all;
    all.reserve(from.values.size() + from.tensors.size());
    for (const value_entry& value : from.values)
      all.push_back({&value.name, &value.from, nullptr, 0});
    for (const tensor_entry& tensor : from.tensors)
      for (std::size_t c = 0; c < tensor.chunks.size(); ++c)
        all.push_back({&tensor.name, &tensor.chunks[c].from, &tensor.chunks[c].at, c});
    return to_.dict(all.size(), [&](std::size_t i) -> result<void> {
      const item& one = all[i];
      global(of_metadata, "MetadataIndex");
      to_.object();
      std::vector<std::string_view> names{"fqn", "index"};
      if (one.at != nullptr) names.emplace_back("offset");
      ZARRPOINT_CHECK(attributes(names, [&](std::size_t part) -> result<void> {
        if (part == 0) return text(*one.name);
        if (part == 2) return size(one.at->offset), result<void>();
        if (one.at == nullptr) return to_.none(), result<void>();
        return to_.unsigned_integer(one.index), result<void>();
      }));
      return write_item(*one.from).at("the item of " + v0::detail::in_quotes(*one.name));
    });
  }

  result<void> write_item(const stored_item& of) {
    if (of.is_raw) return error{errc::unsupported, "it is not an archive of torch.save"};
    global("torch.distributed.checkpoint.filesystem", "_StorageInfo");
    to_.object();
    std::vector<std::string_view> names{"relative_path", "offset", "length"};
    if (!of.transforms.empty()) names.emplace_back("transform_descriptors");
    return attributes(names, [&](std::size_t part) -> result<void> {
      if (part == 0) return text(of.file);
      if (part == 3)
        return to_.list(of.transforms.size(),
                        [&](std::size_t t) { return text(of.transforms[t]); });
      return to_.unsigned_integer(part == 1 ? of.offset : of.length), result<void>();
    });
  }

  bool is_megatrons_;
  torch::pickle_writer to_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::string> write_metadata(const metadata& from, metadata_style style) {
  return guarded([&] { return detail::metadata_pickler(style).write(from); });
}

}}}  // namespace zarrpoint::v0::dcp
