// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/megatron/megatron_format.hpp>
#include <zarrpoint/interop/megatron/torch_dist_strategies.hpp>

#include <algorithm>
#include <utility>

// Saving and loading in the layouts of Megatron-Core, by `process_group{.known =
// megatron::strategies::table()}` and, to save, `.sharded = {"zarr", 1}` or `{"torch_dist", 1}`.
// Here is that of its zarr backend, and what both have in common.

namespace zarrpoint { inline namespace v0 { namespace megatron {

/// Writes shards as Megatron-Core does: each cell one chunk of a Zarr v2 array, uncompressed; each
/// object a file of torch.save. Bytes of an object that are such a file already are put as they
/// are, others are pickled as `bytes`. Grids must be regular. Of `save_options::rules` `cast`
/// applies; one that asks for other chunks or codecs, and attributes, are `invalid_argument`.
struct saver {
  static constexpr std::string_view name = "megatron_zarr_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_sharded;
  static strategy_id companion() { return {"torch", 1}; }

  result<array_metadata> layout(const save_job& job, const planned_tensor& tensor) const;

  result<message> write(const save_job& job, const shard_writes& mine) const;

  result<void> finish(const save_job& job, const save_receipts& all) const;

  /// Whether a directory has a `metadata.json` that names ("zarr", 1) and ("torch", 1), or only the
  /// first. Megatron-Core or we wrote it, so it may be overwritten, and nothing else may.
  result<bool> is_checkpoint(const any_store& root) const;
  /// Its documents, the folders of its tensors with their locks, and the files of its objects.
  result<std::vector<std::string>> paths_of(const any_store& root) const;

 private:
  static detail::tensor_layout layout_of(const planned_array& array);

  static result<void> write_cell(const save_job& job, const zarrpoint::detail::cell_job& cell);

  static result<void> write_object(const save_job& job, const sharded_object& object);
};
static_assert(sharded_saver<saver>);

/// Reads what Megatron-Core's zarr backend, or `saver`, wrote, with any number of processes.
struct loader {
  static constexpr std::string_view name = "megatron_zarr_loader";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_sharded;

  result<std::shared_ptr<sharded_reader>> open(const load_job& job) const;
};
static_assert(sharded_loader<loader>);

/// Writes `common.pt`: numbers that are not finite as `float`, text that is not UTF-8 as `bytes`.
/// What is not a value of Python (a hole in a list, see `to_json`) is the object that stands for it
/// in JSON.
struct common_saver {
  static constexpr std::string_view name = "torch_common_saver";
  static constexpr std::string_view backend = "torch";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_common;

  result<std::vector<leaf_record>> save_common(const save_job& job, const json& common) const;
};
static_assert(zarrpoint::common_saver<common_saver>);

/// Reads `common.pt`, whatever it holds, as `torch::to_document` tells it: nothing in it is run.
struct common_loader {
  static constexpr std::string_view name = "torch_common_loader";
  static constexpr std::string_view backend = "torch";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_common;

  result<json> load_common(const load_job& job) const {
    return detail::read_common(job.store, job.how);
  }
};
static_assert(zarrpoint::common_loader<common_loader>);

/// What `zarrpoint::save` does with `{.storage = {.format = megatron::format{}}}`: as with the pair
/// that it means.
inline result<group_saver> group_save_as(const format& as, const group_save_request& what) {
  if (as.writes == backend::torch_dist) return save_by(torch_dist_saver{}, what, common_saver{});
  return save_by(saver{}, what, common_saver{});
}

/// Ours, and these.
using strategies = default_strategies::with<saver, loader, torch_dist_saver, torch_dist_loader,
                                            common_saver, common_loader>;

}}}  // namespace zarrpoint::v0::megatron
