// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "saved_by_many.hpp"

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/dcp.hpp>
#include <zarrpoint/distributed/load/iterations.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include "text.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace cli {

namespace {

namespace mg = zp::megatron;

zp::result<bool> has(const zp::any_store& store, std::string_view file) {
  ZARRPOINT_TRY(key, zp::store_key::parse(file));
  ZARRPOINT_TRY(object, store.open(key));
  return object != nullptr;
}

/// The newest iteration of a run, which a file names by its number.
zp::result<std::optional<zp::any_store>> newest_iteration(const zp::any_store& run) {
  ZARRPOINT_TRY(tracker, zp::store_key::parse("latest_checkpointed_iteration.txt"));
  ZARRPOINT_TRY(object, run.open(tracker));
  if (object == nullptr || object->size() > 32) return std::optional<zp::any_store>();
  std::string text(static_cast<std::size_t>(object->size()), '\0');
  ZARRPOINT_CHECK(object->read(0, std::as_writable_bytes(std::span(text))));
  zp::index_t number = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0) return std::optional<zp::any_store>();
  ZARRPOINT_TRY(key, zp::store_key::parse(zp::iteration_name(number)));
  return std::optional<zp::any_store>(zp::prefix_store(run, key));
}

/// The directory of a checkpoint of Megatron-Core; nothing for all else.
zp::result<std::optional<zp::any_store>> megatron_directory(const std::string& path,
                                                            zp::link_scope links) {
  auto store = zp::file_store::open(path, {.read_only = true, .follow_links = links});
  if (!store) return std::optional<zp::any_store>();  // a file, or what lies in one
  zp::any_store root = *std::move(store);
  if (auto newest = newest_iteration(root); newest && *newest) root = **newest;
  for (const char* const document : {"zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(is_zarr, has(root, document));
    if (is_zarr) return std::optional<zp::any_store>();
  }
  const auto wrote = mg::detail::read_metadata(root);
  if (!wrote || (wrote->sharded != "zarr" && wrote->sharded != "torch_dist"))
    return std::optional<zp::any_store>();
  return std::optional(std::move(root));
}

zp::result<void> read_flat_cells(const zp::any_store& root, std::uint64_t memory, dims_by_key& to) {
  ZARRPOINT_TRY(state, zp::dcp::state_store::open(root, zp::store_key::root(),
                                                  zp::dcp::metadata_within(memory)));
  for (const zp::dcp::tensor_entry& tensor : state.metadata().tensors) {
    if (!tensor.unflattened || zp::box::whole(*tensor.unflattened).empty()) continue;
    zp::dims cell = *tensor.unflattened;
    for (std::size_t axis = 0; axis < cell.rank(); ++axis) {
      if (tensor.spec.shape[axis] < 1 || cell[axis] % tensor.spec.shape[axis] != 0)
        return zp::error{zp::errc::corrupt, "tensor \"" + escaped(tensor.name) +
                                                "\": its flat cells do not make it up"};
      cell[axis] /= tensor.spec.shape[axis];
    }
    to.emplace(tensor.name, cell);
  }
  return {};
}

}  // namespace

zp::result<std::optional<saved_by_many>> open_saved_by_many(const source& from,
                                                            const std::string& path,
                                                            zp::link_scope links,
                                                            const zp::context& how) {
  ZARRPOINT_TRY(root, megatron_directory(path, links));
  if (!root && from.id().empty()) return std::optional<saved_by_many>();
  zp::process_group alone;
  alone.how = how;
  alone.known = mg::strategies::table();
  saved_by_many out;
  zp::group_load_options options;
  // That of Megatron-Core is copied as it is.
  if (root) options.common = zp::strategy_choice(zp::no_common_loader{});
  ZARRPOINT_TRY(opened,
                zp::open_sharded(root ? zp::location(*root) : zp::location(path), alone, options));
  for (const zp::object_id& grid : opened.shards->objects())
    out.objects.emplace(grid.key, grid.global_shape);
  if (root) {
    ZARRPOINT_TRY(is_listed, has(*root, ".metadata"));
    out.lists_objects = is_listed;
    if (is_listed) ZARRPOINT_CHECK(read_flat_cells(*root, how.limit.memory, out.flat_cells));
  }
  out.shards = std::move(opened.shards);
  out.common = std::move(opened.common);
  out.content_metadata = std::move(opened.content_metadata);
  out.common_array = root ? "common" : std::string(zp::detail::common_leaf);
  out.megatron = std::move(root);
  return std::optional(std::move(out));
}

}  // namespace cli
