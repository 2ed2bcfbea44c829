// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/shard/device_shards.hpp>
#include <zarrpoint/interop/dcp/dcp_item.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/megatron/torch_dist_strategies.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/memory/cast.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace megatron {

// ----------------------------------------------------------------------- torch_dist_strategies.hpp

namespace detail {

/// The sharded part of a directory of torch_dist.
class shards_of_state final : public sharded_reader {
 public:
  shards_of_state(const load_job& job, dcp::state_store of)
      : directory_(job.store), state_(std::move(of)), options_(job.options), how_(job.how) {}

  result<void> read_contents() {
    for (const dcp::tensor_entry& tensor : state_.metadata().tensors) {
      ZARRPOINT_TRY(key, store_key::parse(tensor.shown));
      ZARRPOINT_TRY(from, array::open(any_store(state_), key, how_));
      tensors_.push_back({tensor.name, from.spec(), from.metadata().chunk_shape});
      arrays_.push_back(std::move(from));
    }
    for (const dcp::value_entry& value : state_.metadata().values) {
      auto id = parse_unique_key(value.name);
      if (!id || id->shape.rank() != id->offset.rank()) continue;
      objects_.push_back({std::move(id->key), id->shape, dims(id->shape.rank(), 0)});
    }
    v0::detail::sort_by_text(objects_, [](const auto& one) -> std::string_view { return one.key; });
    const auto of_one_key = [](const auto& a, const auto& b) { return a.key == b.key; };
    objects_.erase(std::unique(objects_.begin(), objects_.end(), of_one_key), objects_.end());
    return {};
  }

  std::span<const stored_tensor> tensors() const override { return tensors_; }
  std::span<const zarrpoint::object_id> objects() const override { return objects_; }

  result<void> read(std::string_view key, const box& part,
                    const mutable_host_view& into) const override {
    const auto* const at = zarrpoint::detail::find_by_key(tensors(), key);
    if (at == nullptr) return error{errc::not_found, "tensor " + zarrpoint::detail::in_quotes(key)};
    const array& from = arrays_[static_cast<std::size_t>(at - tensors_.data())];
    return from.read(part, into, {.missing = missing_chunks::error, .cast = options_.cast});
  }

  result<message> read_object(const zarrpoint::object_id& id) const override {
    if (const auto* at = zarrpoint::detail::find_by_key(objects(), id.key)) {
      ZARRPOINT_TRY(wanted, sharded_object::request(id));
      ZARRPOINT_CHECK(wanted.check_same_grid(at->global_shape));
    }
    const std::string name = zarrpoint::unique_key(id);
    const auto& values = state_.metadata().values;
    const auto found = std::lower_bound(
        values.begin(), values.end(), name,
        [](const dcp::value_entry& a, const std::string& b) { return a.name < b; });
    if (found == values.end() || found->name != name)
      return error{errc::not_found, "object " + name};
    ZARRPOINT_TRY(item, dcp::detail::open_item(directory_, found->from, how_.limit.memory));
    if (item->size() > how_.limit.memory)
      return error{errc::resource_limit,
                   "object " + name + " takes " + std::to_string(item->size()) +
                       " bytes, more than limits::memory of " + std::to_string(how_.limit.memory)};
    return unlist_object(std::move(item));
  }

 private:
  any_store directory_;
  dcp::state_store state_;
  load_options options_;
  context how_;
  std::vector<stored_tensor> tensors_;
  std::vector<array> arrays_;  // of them
  std::vector<zarrpoint::object_id> objects_;
};

}  // namespace detail

ZARRPOINT_INLINE result<std::shared_ptr<sharded_reader>> torch_dist_loader::open(
    const load_job& job) const {
  ZARRPOINT_TRY(state, dcp::state_store::open(job.store, store_key::root(),
                                              dcp::metadata_limits.within(job.how.limit.memory)));
  auto out = v0::detail::make_counted<detail::shards_of_state>(job, std::move(state));
  ZARRPOINT_CHECK(out->read_contents());
  return std::shared_ptr<sharded_reader>(std::move(out));
}

namespace detail {

/// Whether the cells are stored flat: those of nothing have no form of that kind.
ZARRPOINT_INLINE bool is_stored_flat(const planned_tensor& tensor) {
  return tensor.is_flat && !box::whole(tensor.grid.shape).empty();
}

ZARRPOINT_INLINE dcp::tensor_entry entry_of(const planned_array& array) {
  const planned_tensor& tensor = array.tensor;
  dcp::tensor_entry out{tensor.key, {}, {array.metadata.type, tensor.grid.shape}, {}, {}};
  if (!is_stored_flat(tensor)) return out;
  out.unflattened = tensor.grid.shape;
  dims counts;
  index_t elements = 1;
  for (std::size_t axis = 0; axis < tensor.grid.shape.rank(); ++axis) {
    counts.push_back(tensor.grid.cells_along(axis));
    elements *= tensor.grid.cell_shape[axis];
  }
  counts.push_back(elements);
  out.spec.shape = counts;
  return out;
}

ZARRPOINT_INLINE box stored_box(const dcp::tensor_entry& in, const planned_tensor& tensor,
                                const box& part, const std::optional<flat_range>& piece) {
  if (!in.unflattened) return part;
  box out{dims(in.spec.shape.rank(), 0), dims(in.spec.shape.rank(), 1)};
  for (std::size_t axis = 0; axis < part.rank(); ++axis)
    out.offset[axis] = part.offset[axis] / tensor.grid.cell_shape[axis];
  out.offset[part.rank()] = piece ? piece->start : 0;
  out.shape[part.rank()] = piece ? piece->size() : in.spec.shape.back();
  return out;
}

/// A checkpoint must be one that is read again. `name` is what `.metadata` calls it.
ZARRPOINT_INLINE result<void> check_torch_dist_key(std::string_view key, std::string_view name) {
  if (name.size() > zarrpoint::detail::max_leaf_name)
    return error{errc::invalid_argument, "a name of " + std::to_string(name.size()) +
                                             " bytes, and torch_dist is read with " +
                                             std::to_string(zarrpoint::detail::max_leaf_name)};
  if (key != "common" && !key.starts_with("common/")) return {};
  return error{errc::invalid_argument,
               "that is what the common state is called where a checkpoint of torch_dist is read"};
}

/// Of a cell that lies on a device only that: its shard may be many cells. A copy there is not
/// given up, since this may be asked for again.
ZARRPOINT_INLINE result<staged> stage_cell(const cell_write& cell, const context& how,
                                           memory_resource& resource) {
  std::unique_ptr<element_source> source;
  if (cell.source && !cell.reads_once) {
    ZARRPOINT_TRY(made, cell.source(how));
    source = std::move(made);
  }
  if (source == nullptr) return cell.stage(resource);
  const tensor_spec& spec = source->spec();
  ZARRPOINT_TRY(bytes, byte_count(spec));
  ZARRPOINT_TRY(room, buffer::allocate(bytes, resource));
  ZARRPOINT_CHECK(zarrpoint::detail::read_all(*source, dense_view(room.data(), spec)));
  const host_view made = dense_view(static_cast<const std::byte*>(room.data()), spec);
  return staged{made, std::move(room)};
}

/// The elements of a cell as they are stored.
ZARRPOINT_INLINE result<staged> stage_as(const cell_write& cell, const dtype& type,
                                         const context& how, memory_resource& resource) {
  ZARRPOINT_TRY(from, stage_cell(cell, how, resource));
  if (from.view.type == type) return std::move(from);
  const tensor_spec spec{type, from.view.shape};
  ZARRPOINT_TRY(bytes, byte_count(spec));
  ZARRPOINT_TRY(room, buffer::allocate(bytes, resource));
  ZARRPOINT_CHECK(zarrpoint::detail::cast_elements(dense_view(room.data(), spec), from.view));
  const host_view made = dense_view(static_cast<const std::byte*>(room.data()), spec);
  return staged{made, std::move(room)};
}

/// The file of an object: taken out of `kept` if it is there, else made.
ZARRPOINT_INLINE result<staged> stage_object(const sharded_object& object, std::string& kept,
                                             memory_resource& resource) {
  std::string file = std::move(kept);
  kept.clear();
  if (file.empty()) {
    ZARRPOINT_TRY(again, list_object(object.bytes(), object.unique_key()));
    file = std::move(again);
  }
  ZARRPOINT_TRY(room, buffer::allocate(file.size(), resource));
  if (!file.empty()) std::memcpy(room.data(), file.data(), file.size());
  const host_view made = dense_view(static_cast<const std::byte*>(room.data()),
                                    {dtype_kind::uint8, {static_cast<index_t>(file.size())}});
  return staged{made, std::move(room)};
}

}  // namespace detail

ZARRPOINT_INLINE result<array_metadata> torch_dist_saver::layout(
    const save_job& job, const planned_tensor& tensor) const {
  const write_grid& grid = tensor.grid;
  ZARRPOINT_CHECK(detail::check_torch_dist_key(tensor.key, tensor.key));
  ZARRPOINT_CHECK(detail::check_attributes(job));
  ZARRPOINT_TRY(type, detail::stored_type(job, tensor));
  if (!torch::dtype_name(type.kind()))
    return error{errc::unsupported, "PyTorch has no tensors of " + std::string(to_string(type))};
  ZARRPOINT_CHECK(detail::check_rules(job, {type, grid.cell_shape}, tensor.key));
  ZARRPOINT_TRY(cells, grid.cells());
  if (static_cast<index_t>(tensor.cells) != cells)
    return error{errc::invalid_argument, "the processes have " + std::to_string(tensor.cells) +
                                             " of its " + std::to_string(cells) +
                                             " cells; a checkpoint of torch_dist has no holes"};
  if (detail::is_stored_flat(tensor)) {
    if (!grid.edges.empty())
      return error{errc::unsupported,
                   "its shards are in flat pieces and have different shapes, but torch_dist stores "
                   "flat cells of one size"};
    if (grid.shape.rank() >= max_rank)
      return error{errc::unsupported, "a tensor of rank " + std::to_string(grid.shape.rank()) +
                                          " cannot have flat cells"};
  }
  array_metadata out = zarrpoint::detail::raw_array({type, grid.shape});
  out.chunk_shape = grid.cell_shape;
  out.edges = grid.edges;
  return out;
}

ZARRPOINT_INLINE result<void> torch_dist_saver::check_plan(
    std::span<const planned_array> arrays, std::span<const planned_object> objects) const {
  constexpr std::size_t values_each = 24;  // of the pickle; a load counts them
  constexpr std::size_t most = dcp::metadata_limits.max_values / values_each;
  std::size_t items = objects.size();
  for (const planned_array& one : arrays) items += one.tensor.cells;
  if (items > most)
    return error{errc::resource_limit, "a checkpoint of torch_dist with " + std::to_string(items) +
                                           " boxes and objects, of which a load takes " +
                                           std::to_string(most)};
  for (const planned_object& one : objects) {
    const std::string name = zarrpoint::unique_key(one.id);
    ZARRPOINT_CHECK(detail::check_torch_dist_key(one.id.key, name)
                        .at("save " + zarrpoint::detail::in_quotes(name)));
  }
  return {};
}

ZARRPOINT_INLINE result<message> torch_dist_saver::write(const save_job& job,
                                                         const shard_writes& mine) const {
  std::vector<dcp::detail::item_to_write> items;
  std::vector<dcp::detail::tensor_source> sources;
  // Files of objects are made before they are written, for their sizes. Small ones are kept until
  // then, in half of what may be in flight, as the writer holds as much again. The others are made
  // twice, so that not all lie in memory at once.
  std::vector<std::string> files(mine.objects.size());
  std::uint64_t room_left =
      std::min<std::uint64_t>(job.how.limit.bytes_in_flight / 2, job.how.limit.memory / 4);
  for (std::size_t i = 0; i < mine.objects.size(); ++i) {
    const sharded_object& object = mine.objects[i];
    ZARRPOINT_TRY(file, detail::list_object(object.bytes(), object.unique_key()));
    const std::uint64_t bytes = file.size();
    const box whole = box::whole({static_cast<index_t>(bytes)});
    items.push_back({dcp::detail::archive_layout::of_file(bytes), sources.size(), whole});
    sources.push_back({object.unique_key(),
                       [&object, &made = files[i]](memory_resource& into) {
                         return detail::stage_object(object, made, into);
                       },
                       false, whole, 0, bytes});
    if (bytes > room_left) continue;
    room_left -= bytes;
    files[i] = std::move(file);
  }
  for (const array_writes& one : mine.arrays) {
    const dcp::tensor_entry entry = detail::entry_of(*one.array);
    const dtype& type = entry.spec.type;
    for (const cell_write& cell : one.cells) {
      const box stored = detail::stored_box(entry, one.array->tensor, cell.part, cell.piece);
      const dims staged_shape = cell.piece ? dims{cell.piece->size()} : cell.part.shape;
      ZARRPOINT_TRY(layout, dcp::detail::archive_layout::of_tensor({type, stored.shape}));
      const std::uint64_t bytes = layout.element_bytes();
      items.push_back({std::move(layout), sources.size(), box::whole(staged_shape), {}, stored});
      const dtype& own = one.array->tensor.type;
      const bool is_there = !cell.source && own == type;
      std::uint64_t room = bytes;
      if (cell.source && own != type) {
        ZARRPOINT_TRY(uncast, byte_count({own, staged_shape}));
        room += uncast;
      }
      sources.push_back({entry.name,
                         [&cell, &how = job.how, type](memory_resource& into) {
                           return detail::stage_as(cell, type, how, into);
                         },
                         is_there,
                         {},
                         0,
                         room});
    }
  }
  return dcp::detail::write_items(job.store, {job.rank, sources, items, file_bytes, files_at_once},
                                  job.how);
}

ZARRPOINT_INLINE result<void> torch_dist_saver::finish(const save_job& job,
                                                       const save_receipts& all) const {
  ZARRPOINT_CHECK(detail::check_attributes(job));  // of a save without tensors
  dcp::detail::planned_items planned;
  dcp::metadata& made = planned.made;
  for (const planned_object& object : all.written_objects) {
    made.values.push_back({zarrpoint::unique_key(object.id), {}, {}});
    planned.writers.push_back(object.writer);
  }
  for (const planned_array& array : all.arrays) {
    const planned_tensor& tensor = array.tensor;
    dcp::tensor_entry entry = detail::entry_of(array);
    for (const planned_cell& cell : all.cells.subspan(tensor.first_cell, tensor.cells)) {
      const box part = tensor.grid.cell(cell.index);
      entry.chunks.push_back({detail::stored_box(entry, tensor, part, {}), {}});
      planned.writers.push_back(cell.writer);
    }
    made.tensors.push_back(std::move(entry));
  }
  ZARRPOINT_CHECK(dcp::detail::read_receipts(planned, all.receipts).transform([](const auto&) {}));
  v0::detail::sort_by_text(
      made.values, [](const dcp::value_entry& one) -> std::string_view { return one.name; });
  ZARRPOINT_TRY(document, dcp::write_metadata(made, dcp::metadata_style::torch_dist));
  // With many axes it has more values than planned with.
  ZARRPOINT_CHECK(torch::read_pickle(as_bytes(std::string_view(document)), dcp::metadata_limits)
                      .transform([](const auto&) {}));
  ZARRPOINT_TRY(key, store_key::parse(dcp::detail::metadata_file));
  ZARRPOINT_CHECK(job.store.put(key, as_bytes(std::string_view(document))));
  return detail::write_metadata(job.store, {.sharded = std::string(backend),
                                            .sharded_version = version,
                                            .common = all.common_strategy.backend,
                                            .common_version = all.common_strategy.version});
}

ZARRPOINT_INLINE result<bool> torch_dist_saver::is_checkpoint(const any_store& root) const {
  const auto wrote = detail::read_metadata(root);
  if (wrote) return *wrote == backends{.sharded = std::string(backend)};
  const errc code = wrote.failure().code;
  if (code == errc::not_found || code == errc::corrupt) return false;
  return wrote.failure();
}

ZARRPOINT_INLINE result<std::vector<std::string>> torch_dist_saver::paths_of(
    const any_store& root) const {
  ZARRPOINT_TRY(out, dcp::detail::own_files(root));
  out.emplace_back(detail::metadata_file);
  out.emplace_back(detail::common_file);
  return std::move(out);
}

}}}  // namespace zarrpoint::v0::megatron

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/store_bodies.hpp>
#include <zarrpoint/interop/dcp_save/save_bodies.hpp>
#include <zarrpoint/interop/megatron/directory_bodies.hpp>
#endif
