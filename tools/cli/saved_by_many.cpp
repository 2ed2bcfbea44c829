// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "saved_by_many.hpp"

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/dcp.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace {

namespace mg = zp::megatron;

zp::result<bool> has(const zp::any_store& store, std::string_view file) {
  ZARRPOINT_TRY(key, zp::store_key::parse(file));
  ZARRPOINT_TRY(object, store.open(key));
  return object != nullptr;
}

/// A folder that holds a checkpoint of Megatron-Core's, of the folders that arrays lie in. `source`
/// reads the arrays of all folders where no group is, and so those of all iterations of a run.
zp::result<std::optional<std::string>> find_in_folders(const zp::any_store& root,
                                                       const source& from) {
  std::string last;
  for (const entry& one : from.entries()) {  // sorted by name
    std::string folder = one.name.substr(0, one.name.find('/'));
    if (folder == one.name || folder == last) continue;
    const auto key = zp::store_key::parse(folder);
    if (key && mg::detail::read_metadata(zp::prefix_store(root, *key)))
      return std::optional(folder);
    last = std::move(folder);
  }
  return std::optional<std::string>();
}

/// Refuses what was a checkpoint of Megatron-Core's, or is several, though no `metadata.json` says
/// so. The objects and the common state would be lost, or those of one would go with all tensors.
zp::result<void> check_no_megatron(const zp::any_store& root, const source& from,
                                   const std::string& path) {
  ZARRPOINT_TRY(is_rest, has(root, mg::detail::common_file));
  if (is_rest)
    return zp::error{zp::errc::corrupt,
                     path +
                         ": it holds common.pt, but no metadata.json that says how "
                         "Megatron-Core saved it; without that its objects would be lost"};
  ZARRPOINT_TRY(folder, find_in_folders(root, from));
  if (!folder) return {};
  return zp::error{zp::errc::unsupported,
                   path + ": " + "its folders are checkpoints of Megatron-Core; name one: " + path +
                       '/' + escaped(*folder)};
}

/// Whether a directory has no `metadata.json`, or one that is somebody's: of no backend.
bool is_of_others(const zp::any_store& root, const zp::error& why, std::size_t most) {
  if (why.code == zp::errc::not_found) return true;
  const auto document = zp::detail::document_at(root, mg::detail::metadata_file, most);
  return document && *document && (*document)->find("sharded_backend") == nullptr;
}

/// The directory of a checkpoint of Megatron-Core; nothing for all else. Errors: `corrupt` for one
/// that is damaged.
zp::result<std::optional<zp::any_store>> megatron_directory(const source& from,
                                                            const std::string& path,
                                                            zp::link_scope links,
                                                            const zp::context& how) {
  auto store = zp::file_store::open(path, {.read_only = true, .follow_links = links});
  if (!store) return std::optional<zp::any_store>();  // a file, or what lies in one
  zp::any_store root = *std::move(store);
  ZARRPOINT_TRY(state, zp::dcp::detail::state_key(root));  // as `source` chose it
  if (state && !state->is_root()) root = zp::prefix_store(root, *state);
  const std::size_t most = how.limit.metadata_bytes;
  const auto named = zp::detail::find_strategies(root, most);
  if (!named && !is_of_others(root, named.failure(), most))
    return zp::error(named.failure()).at(path + "/metadata.json");
  if (named && named->by_checkpoint && named->sharded != zp::strategy_id{"zarr", 3})
    return std::optional(std::move(root));
  if (from.id().empty()) ZARRPOINT_CHECK(check_no_megatron(root, from, path));
  return std::optional<zp::any_store>();
}

/// What a Zarr document in the directory hides is not lost without a word.
zp::result<void> check_all_there(const saved_by_many& what, const source& from,
                                 const std::string& path) {
  std::set<std::string_view> names;
  for (const entry& each : from.entries()) names.insert(name_in_file(each));
  for (const zp::stored_tensor& one : what.shards->tensors()) {
    if (!names.contains(one.key))
      return zp::error{zp::errc::unsupported,
                       path + ": tensor \"" + escaped(one.key) +
                           "\" of this checkpoint of Megatron-Core is not among the arrays; a Zarr "
                           "document such as .zgroup or zarr.json in it hides what it holds"};
  }
  return {};
}

zp::result<void> read_flat_cells(const zp::any_store& root, std::uint64_t memory, dims_by_key& to) {
  ZARRPOINT_TRY(state, zp::dcp::state_store::open(root, zp::store_key::root(),
                                                  zp::dcp::metadata_limits.within(memory)));
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
  ZARRPOINT_TRY(root, megatron_directory(from, path, links, how));
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
  if (root) ZARRPOINT_CHECK(check_all_there(out, from, path));
  out.common = std::move(opened.common);
  out.content_metadata = std::move(opened.content_metadata);
  out.common_array = root ? "common" : std::string(zp::detail::common_leaf);
  out.megatron = std::move(root);
  return std::optional(std::move(out));
}

}  // namespace cli
