// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/checkpoint/write_metadata.hpp>
#include <zarrpoint/distributed/jobs.hpp>
#include <zarrpoint/distributed/strategy.hpp>
#include <zarrpoint/distributed/wire.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress.hpp>
#include <zarrpoint/handler/blob.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/zarr/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Our own format: a checkpoint as `save` writes it, but with as many objects in an array as there
// are cells, each written by one process.

namespace zarrpoint::inline v0 {

namespace detail {

/// Writes the elements of a cell to its place: from the host, or as they come from a device.
template <class = void>
result<void> write_elements(const array& to, const cell_write& cell, const context& how,
                            const write_options& options) {
  if (cell.source) {
    ZARRPOINT_TRY(elements, cell.source(how));
    return to.write(cell.part, *elements, options);
  }
  ZARRPOINT_TRY(elements, cell.stage(how.scratch->resource()));
  return to.write(cell.part, elements.view, options);
}

/// The leaf that holds what all processes have in common.
inline constexpr std::string_view common_leaf = "common_state";
/// The stored kind of a grid of objects.
inline constexpr std::string_view object_kind = "object";
/// The member of the root's attributes that names the strategies that read a checkpoint.
inline constexpr std::string_view strategies_member = "zarrpoint_strategies";

/// Digests as a message: of each array by its key.
using digests_of_arrays = std::map<std::string, chunk_digests, std::less<>>;

template <class = void>
message encode_digests(const digests_of_arrays& arrays) {
  wire_writer to;
  to.number(arrays.size());
  for (const auto& [name, digests] : arrays) {
    to.text(name);
    to.number(digests.objects().size());
    for (const auto& [key, object] : digests.objects()) {
      to.text(key);
      to.number(object.size);
      to.number(object.crc32c.size());
      for (const std::optional<std::uint32_t>& crc : object.crc32c)
        to.number(crc ? std::uint64_t{1} + *crc : 0);
    }
  }
  return std::move(to).take();
}

/// Adds the digests of a message to those of other processes. Errors: `corrupt`, also when two say
/// that they wrote one object.
template <class = void>
result<void> decode_digests(bytes_view from_rank, digests_of_arrays& into) {
  wire_reader from(from_rank);
  for (std::size_t n = from.count(2); n > 0 && !from.failed(); --n) {
    chunk_digests& digests = into[from.text()];
    for (std::size_t m = from.count(3); m > 0 && !from.failed(); --m) {
      std::string key = from.text();
      object_digest object;
      object.size = from.number();
      for (std::size_t crcs = from.count(); crcs > 0 && !from.failed(); --crcs) {
        const std::uint64_t crc = from.limited(std::uint64_t{1} << 32);
        object.crc32c.push_back(crc == 0 ? std::nullopt
                                         : std::optional(static_cast<std::uint32_t>(crc - 1)));
      }
      if (digests.find(key) != nullptr)
        return error{errc::corrupt, "two processes wrote " + in_quotes(key)};
      digests.set(std::move(key), std::move(object));
    }
  }
  return from.finish();
}

/// What was not written must not become a checkpoint, whatever the writer said. Errors: `corrupt`.
template <class = void>
result<void> check_written(const planned_tensor& tensor, const chunk_digests& digests,
                           const save_options& options) {
  const std::size_t written = digests.objects().size();
  if (written == tensor.cells || (options.elide_fill && written < tensor.cells)) return {};
  return error{errc::corrupt, "of " + in_quotes(tensor.key) + " " + std::to_string(written) +
                                  " objects were written, planned were " +
                                  std::to_string(tensor.cells)};
}

/// How a grid of objects is stored: an array of byte strings, each a chunk of its own.
template <class = void>
result<array_metadata> object_layout(const object_id& id, const save_options& options) {
  save_options own = options;
  // Rules for tensors may match any key: each object is a chunk whatever they say.
  const dims one(id.global_shape.rank(), 1);
  own.rules.push_back({.chunk_shape = one, .shard_shape = one});
  ZARRPOINT_TRY(planned, plan_layout(id.key, {dtype_kind::bytes, id.global_shape}, own));
  return std::move(planned.metadata);
}

}  // namespace detail

/// Writes shards in our own format: Zarr v3, each cell one shard (or, in an irregular grid, one
/// chunk of a rectilinear grid). `save_options::rules` apply, but for `shard_shape`.
struct zarr_saver {
  static constexpr std::string_view name = "zarr_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::save_sharded;

  result<array_metadata> layout(const save_job& job, const planned_tensor& tensor) const {
    if (job.options.zarr_format == 2)
      return error{errc::unsupported,
                   "several processes save in Zarr v2 only in the layout of Megatron-Core, which "
                   "megatron::strategies has as (zarr, 1); save_options::zarr_format must be 3"};
    save_options own = job.options;
    own.rules.push_back({.shard_shape = tensor.grid.cell_shape});
    tensor_spec stored{tensor.type, tensor.grid.shape};
    if (const dtype* cast = detail::last_set(own.rules, tensor.key, &leaf_rule::cast)) {
      ZARRPOINT_CHECK(detail::check_cast(stored.type, *cast));
      stored.type = *cast;
    }
    const bool regular = tensor.grid.edges.empty();
    // Shards of a rectilinear grid would need inner chunks that divide each of them.
    if (!regular) own.rules.push_back({.chunk_shape = tensor.grid.cell_shape});
    ZARRPOINT_TRY(planned, plan_layout(tensor.key, stored, own));
    planned.metadata.edges = tensor.grid.edges;
    return std::move(planned.metadata);
  }

  template <class = void>
  result<message> write(const save_job& job, const shard_writes& mine) const {
    detail::digests_of_arrays digests;
    std::mutex merging;
    struct step {
      const array_writes* writes;
      const cell_write* cell;
    };
    std::vector<step> steps;
    for (const array_writes& one : mine.arrays) {
      ZARRPOINT_TRY(key, store_key::parse(one.array->tensor.key));
      if (one.puts_document)
        ZARRPOINT_CHECK(detail::put_document(job.store, key, "zarr.json", one.array->document));
      for (const cell_write& cell : one.cells) steps.push_back({&one, &cell});
    }
    context how = with_scratch(job.how);
    progress_meter meter(std::exchange(how.progress, {}), "save", bytes_of(mine));
    const auto write_step = [&](std::size_t i) -> result<void> {
      const planned_array& array = *steps[i].writes->array;
      chunk_digests own;
      ZARRPOINT_CHECK(write_cell(job, how, array, *steps[i].cell, own)
                          .at("save " + detail::in_quotes(array.tensor.key)));
      meter.add(array.tensor.key, bytes_of(array, *steps[i].cell));
      const std::lock_guard lock(merging);
      digests[array.tensor.key].merge(own);
      return {};
    };
    ZARRPOINT_CHECK(parallel_for(how.executor, steps.size(), write_step, {.stop = how.stop}));
    for (const object_id& grid : mine.first_objects) {
      ZARRPOINT_TRY(key, store_key::parse(grid.key));
      ZARRPOINT_TRY(metadata, detail::object_layout(grid, job.options));
      ZARRPOINT_TRY(document, detail::array_document(metadata));
      ZARRPOINT_CHECK(detail::put_document(job.store, key, "zarr.json", document));
    }
    for (const sharded_object& object : mine.objects)
      ZARRPOINT_CHECK(write_object(job, how, object, digests[object.key()])
                          .at("save object " + detail::in_quotes(object.unique_key())));
    return detail::encode_digests(digests);
  }

  template <class = void>
  result<void> finish(const save_job& job, const save_receipts& all) const {
    detail::digests_of_arrays digests;
    for (std::size_t rank = 0; rank < all.receipts.size(); ++rank)
      ZARRPOINT_CHECK(detail::decode_digests(all.receipts[rank], digests)
                          .at("receipt of rank " + std::to_string(rank)));
    commit_document commit{.id = detail::random_id(), .leaves = all.common};
    bool all_core = true;
    for (const planned_array& array : all.arrays) {
      all_core = all_core && detail::is_core_array(array.metadata);
      ZARRPOINT_CHECK(detail::check_written(array.tensor, digests[array.tensor.key], job.options));
      commit.leaves.push_back({array.tensor.key, std::string(detail::array_kind), array.document,
                               std::move(digests[array.tensor.key])});
    }
    for (const object_id& grid : all.objects) {
      all_core = false;
      ZARRPOINT_TRY(metadata, detail::object_layout(grid, job.options));
      ZARRPOINT_TRY(document, detail::array_document(metadata));
      commit.leaves.push_back({grid.key, std::string(detail::object_kind), std::move(document),
                               std::move(digests[grid.key])});
    }
    std::vector<std::string_view> names;
    names.reserve(commit.leaves.size());
    for (const leaf_record& leaf : commit.leaves) names.emplace_back(leaf.name);
    ZARRPOINT_TRY(groups, groups_of(names));
    save_options options = job.options;
    if (options.attributes.is_null()) options.attributes = node::object{};
    const auto pair = [](std::string_view from, int number) {
      return node(node::array{node(from), node(number)});
    };
    options.attributes.set(
        std::string(detail::strategies_member),
        node::object{{"sharded", pair(backend, version)},
                     {"common", pair(all.common_strategy.backend, all.common_strategy.version)}});
    return detail::put_hierarchy(job.store, {commit, groups, options, job.how.limit.metadata_bytes},
                                 all_core)
        .transform([](bool) {});
  }

 private:
  static std::uint64_t bytes_of(const planned_array& array, const cell_write& cell) {
    return byte_count(cell.part.shape, array.tensor.type.size()).value_or(0);
  }
  static std::uint64_t bytes_of(const shard_writes& mine) {
    std::uint64_t bytes = 0;
    for (const array_writes& one : mine.arrays) {
      for (const cell_write& cell : one.cells) bytes += bytes_of(*one.array, cell);
    }
    return bytes;
  }

  template <class = void>
  static result<void> write_cell(const save_job& job, const context& how,
                                 const planned_array& array, const cell_write& cell,
                                 chunk_digests& digests) {
    ZARRPOINT_TRY(key, store_key::parse(array.tensor.key));
    ZARRPOINT_TRY(target, zarrpoint::array::from_metadata(job.store, key, array.metadata, how));
    return detail::write_elements(
        target, cell, how,
        {.elide_fill = job.options.elide_fill, .collected = &digests, .cast = true});
  }

  template <class = void>
  static result<void> write_object(const save_job& job, const context& how,
                                   const sharded_object& object, chunk_digests& digests) {
    ZARRPOINT_TRY(key, store_key::parse(object.key()));
    ZARRPOINT_TRY(metadata, detail::object_layout(object.id(), job.options));
    ZARRPOINT_TRY(target, zarrpoint::array::from_metadata(job.store, key, metadata, how));
    const dims one(object.global_shape().rank(), 1);
    ZARRPOINT_TRY(value, tensor::make({dtype_kind::bytes, one}, how.scratch->resource()));
    value.data<std::string>()[0] = as_text(object.bytes());
    return target.write(box{object.global_offset(), one}, value.view(),
                        {.elide_fill = false, .collected = &digests});
  }
};
static_assert(sharded_saver<zarr_saver>);

/// Writes what all processes have in common as JSON: a leaf of its own, `common_state`.
struct json_common_saver {
  static constexpr std::string_view name = "json_common_saver";
  static constexpr std::string_view backend = "json";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_common;

  template <class = void>
  result<std::vector<leaf_record>> save_common(const save_job& job, const node& common) const {
    const leaf value(std::string(detail::common_leaf),
                     json_text{dump_json(common, json_style::compact)});
    const context how = with_scratch(job.how);
    save_options options = job.options;
    options.rules.clear();
    options.zarr_format = 3;
    ZARRPOINT_TRY(spec, value.spec());
    ZARRPOINT_TRY(layout, plan_layout(value.name(), spec, options));
    const detail::planned_leaf planned{&value, nullptr, std::move(layout.metadata), 0};
    detail::pin_times none;
    ZARRPOINT_TRY(record,
                  detail::write_leaf(job.store, planned, {.elide_fill = false, .how = &how}, none));
    return std::vector<leaf_record>{std::move(record)};
  }
};
static_assert(common_saver<json_common_saver>);

}  // namespace zarrpoint::inline v0
