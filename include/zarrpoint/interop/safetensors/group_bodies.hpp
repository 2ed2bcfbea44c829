// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/safetensors/group_format.hpp>
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors_files.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace safetensors {

// -------------------------------------------------------------------------------- group_format.hpp

namespace detail {

inline constexpr std::string_view common_file = "model-common.safetensors";

ZARRPOINT_INLINE std::string name_of_part(int rank, std::size_t file) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "model-%05d-%05zu.safetensors", rank + 1, file + 1);
  return text.data();
}

/// Calls `f(path, number)` for each number of what is common. Maps, lists and holes are only where
/// it lies. Errors: `unsupported` for texts and null.
template <class F>
result<void> for_each_number(const state& of, const std::string& path, const F& f) {
  const auto below = [&](const std::string& name, const state& child) {
    return for_each_number(child, path.empty() ? name : path + "/" + name, f);
  };
  if (const state::map* const members = of.if_map()) {
    for (const auto& [name, child] : *members) ZARRPOINT_CHECK(below(name, child));
    return {};
  }
  if (const state::list* const items = of.if_list()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      ZARRPOINT_CHECK(below(std::to_string(i), (*items)[i]));
    return {};
  }
  if (of.is_hole()) return {};
  const json* const value = of.if_value();
  if (value != nullptr && (value->is_number() || value->if_bool() != nullptr)) {
    f(path, *value);
    return {};
  }
  return error{errc::unsupported,
               "a safetensors model holds tensors and numbers alone, and what is common at " +
                   v0::detail::in_quotes(path) +
                   " is neither; leave it out, or give it as safetensors::group_format::metadata"};
}

/// The numbers that all processes have in common, by their paths. Errors: `unsupported`.
ZARRPOINT_INLINE result<std::vector<leaf>> numbers_of(const json& common) {
  ZARRPOINT_TRY(tree, v0::detail::state_from_json(common));
  std::vector<leaf> out;
  ZARRPOINT_CHECK(for_each_number(tree, {}, [&](const std::string& path, const json& value) {
    value.visit([&]<class T>(const T& held) {
      if constexpr (std::is_arithmetic_v<T>) out.emplace_back(path, T(held));
    });
  }));
  return out;
}

/// Those, as tensors of rank 0.
struct numbers_saver {
  static constexpr std::string_view name = "safetensors_numbers_saver";
  static constexpr std::string_view backend = "safetensors";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_common;

  metadata_map metadata{};

  result<void> check_plan(const json& common, std::span<const planned_array> arrays) const {
    ZARRPOINT_TRY(numbers, numbers_of(common));
    std::set<std::string_view> names;
    for (const planned_array& array : arrays) names.insert(array.tensor.key);
    for (const leaf& each : numbers)
      if (!names.insert(each.name()).second)
        return error{errc::invalid_argument, "two tensors or common numbers have the name " +
                                                 v0::detail::in_quotes(each.name())};
    if (!names.empty()) return {};
    return error{errc::invalid_argument, "there is no tensor of which an index could tell"};
  }

  /// Of a record the name and, as its `typestr`, the dtype that the file has.
  result<std::vector<leaf_record>> save_common(const save_job& job, const json& common) const {
    ZARRPOINT_TRY(numbers, numbers_of(common));
    std::vector<leaf_record> out;
    if (numbers.empty()) return out;
    std::vector<tensor_to_write> tensors;
    for (const leaf& each : numbers) {
      ZARRPOINT_TRY(spec, each.spec());
      out.push_back({each.name(), std::string(dtype_name(spec.type).value()), {}, {}});
      tensors.push_back({each.name(), std::move(spec),
                         [&each, &job] { return each.stage(v0::detail::resource_of(job.how)); }});
    }
    ZARRPOINT_TRY(key, store_key::parse(common_file));
    ZARRPOINT_CHECK(write_tensors(job.store, key, tensors, metadata).at(std::string(common_file)));
    return out;
  }
};

/// Tensors, each whole in a file of the process that has all of it.
struct files_saver {
  static constexpr std::string_view name = "safetensors_files_saver";
  static constexpr std::string_view backend = "safetensors";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_sharded;
  static constexpr bool stores_whole_tensors = true;
  static constexpr bool stores_zarr = false;

  group_format as{};

  result<array_metadata> layout(const save_job&, const planned_tensor& tensor) const {
    if (dtype_name(tensor.type))
      return v0::detail::raw_array({tensor.type, tensor.grid.shape}, endian::little);
    return error{errc::unsupported, "safetensors has no data type " +
                                        std::string(to_string(tensor.type)) + "; cast it before"};
  }

  result<void> check_plan(std::span<const planned_array>,
                          std::span<const planned_object> objects) const {
    if (objects.empty()) return {};
    return error{errc::unsupported, "a safetensors model has no place for the object " +
                                        v0::detail::in_quotes(objects.front().id.key) +
                                        "; leave it out"};
  }

  /// The receipt: how many files, and of each the names of its tensors.
  result<message> write(const save_job& job, const shard_writes& mine) const {
    std::vector<std::uint64_t> bytes;
    std::uint64_t total = 0;
    for (const array_writes& one : mine.arrays) {
      const planned_tensor& of = one.array->tensor;
      ZARRPOINT_TRY(size, stored_byte_count({of.type, of.grid.shape}).at(tensor_context(of.key)));
      bytes.push_back(size);
      total += size;
    }
    progress_meter meter(&job.how.progress, "save", total);
    std::vector<tensor_to_write> tensors;
    for (std::size_t i = 0; i < mine.arrays.size(); ++i) {
      const planned_tensor& of = mine.arrays[i].array->tensor;
      const tensor_spec spec{of.type, of.grid.shape};
      tensors.push_back(
          {of.key, spec,
           [&, &cells = mine.arrays[i].cells, spec, size = bytes[i]]() -> result<staged> {
             if (job.how.stop.stop_requested()) return error{errc::cancelled, "stop was requested"};
             meter.add(of.key, size);
             const std::byte* const nothing = nullptr;
             if (cells.empty()) return staged{dense_view(nothing, spec), {}};
             return cells.front().stage(v0::detail::resource_of(job.how));
           }});
    }
    const std::vector<std::size_t> file_of = divide_by_size(bytes, as.max_file_bytes);
    const std::size_t count = file_of.empty() ? 0 : file_of.back() + 1;
    v0::detail::wire_writer receipt;
    receipt.number(count);
    for (std::size_t file = 0; file < count; ++file) {
      const auto [first, last] = std::equal_range(file_of.begin(), file_of.end(), file);
      const auto some =
          std::span(tensors).subspan(static_cast<std::size_t>(first - file_of.begin()),
                                     static_cast<std::size_t>(last - first));
      const std::string name_of_file = name_of_part(job.rank, file);
      const v0::detail::phase_scope writes(job.how.observer, phase::write, name_of_file, 0);
      ZARRPOINT_TRY(key, store_key::parse(name_of_file));
      ZARRPOINT_CHECK(write_tensors(job.store, key, some, as.metadata).at(name_of_file));
      receipt.number(some.size());
      for (const tensor_to_write& one : some) receipt.text(one.name);
    }
    return std::move(receipt).take();
  }

  /// The index, of what the receipts say. Errors: `corrupt` where that is not what was planned.
  result<void> finish(const save_job& job, const save_receipts& all) const {
    std::map<std::string, std::pair<int, std::string>, std::less<>> written;
    for (std::size_t rank = 0; rank < all.receipts.size(); ++rank) {
      v0::detail::wire_reader from(all.receipts[rank]);
      const std::size_t files = from.count();
      for (std::size_t file = 0; file < files && !from.failed(); ++file) {
        const std::string in = name_of_part(static_cast<int>(rank), file);
        for (std::size_t n = from.count(); n > 0 && !from.failed(); --n)
          written.emplace(from.text(), std::pair(static_cast<int>(rank), in));
      }
      ZARRPOINT_CHECK(from.finish().at("receipt of rank " + std::to_string(rank)));
    }
    std::uint64_t total = 0;
    json::object map;
    for (const planned_array& array : all.arrays) {
      const planned_tensor& of = array.tensor;
      const int writer = of.cells == 0 ? 0 : all.cells[of.first_cell].writer;
      const auto at = written.find(of.key);
      if (at == written.end() || at->second.first != writer)
        return error{errc::corrupt, "rank " + std::to_string(writer) + " has not written " +
                                        v0::detail::in_quotes(of.key) + ", which was planned"};
      ZARRPOINT_TRY(bytes, stored_byte_count({of.type, of.grid.shape}));
      total += bytes;
      map.push_back({of.key, at->second.second});
    }
    for (const leaf_record& one : all.common) {
      total += dtype_named(one.typestr).value().size();
      map.push_back({one.name, std::string(common_file)});
    }
    ZARRPOINT_TRY(key, store_key::parse(files_index));
    return job.store.put(key, as_bytes(index_document(std::move(map), total)));
  }

  result<bool> is_checkpoint(const any_store& root) const {
    return look_for_model(root).transform([](const auto& seen) { return seen.is_whole; });
  }
  result<std::vector<std::string>> paths_of(const any_store& root) const { return files_of(root); }
};
static_assert(common_saver<numbers_saver> && sharded_saver<files_saver>);

}  // namespace detail

ZARRPOINT_INLINE result<group_saver> group_save_as(const group_format& as,
                                                   const group_save_request& what) {
  if (what.where.name().ends_with(".safetensors"))
    return error{errc::unsupported,
                 "many processes save a safetensors model in several files: give the name of a "
                 "directory, without .safetensors"};
  if (what.options.common)
    return error{errc::unsupported,
                 "a safetensors model stores what is common as numbers; leave out "
                 "group_save_options::common"};
  if (as.max_file_bytes == 0)
    return error{errc::invalid_argument, "files of at most 0 bytes hold no tensor"};
  if (!what.options.content_metadata.is_null())
    return error{errc::unsupported,
                 "a safetensors model has no place for group_save_options::content_metadata; leave "
                 "it out, or give it as safetensors::group_format::metadata"};
  ZARRPOINT_TRY(warnings, check_options({what.where, {}, {}, what.options.storage, what.group.how},
                                        "a safetensors model", {}));
  ZARRPOINT_TRY(out, save_by(detail::files_saver{as}, what, detail::numbers_saver{as.metadata}));
  out->more_warnings = std::move(warnings);
  return std::move(out);
}

}}}  // namespace zarrpoint::v0::safetensors

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/save_bodies.hpp>
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#include <zarrpoint/interop/safetensors/bodies.hpp>
#endif
