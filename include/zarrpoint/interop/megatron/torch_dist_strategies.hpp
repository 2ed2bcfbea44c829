// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace megatron {

/// Writes shards as Megatron-Core's backend ("torch_dist", 1) does, so that it and
/// torch.distributed.checkpoint load them: rank `r` writes `__r_0.distcp` and on, rank 0
/// `.metadata` and `metadata.json`, last. Shards may have different shapes, but for flat pieces,
/// each of which its process writes (as 0.13.1 has it), where its cell is a shard. Objects are as
/// `saver` takes them. Of `save_options::rules` `cast` applies; one that asks for other chunks than
/// the cells or codecs, and attributes, are `invalid_argument`.
struct torch_dist_saver {
  static constexpr std::string_view name = "megatron_torch_dist_saver";
  static constexpr std::string_view backend = "torch_dist";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_sharded;
  static strategy_id companion() { return {"torch", 1}; }
  static constexpr bool stores_flat_pieces = true;
  static constexpr bool stores_zarr = false;

  /// A file of a process that has so many bytes is followed by another one.
  std::uint64_t file_bytes = std::uint64_t{5} << 30;
  /// A process that has much fills up to so many files at once, one for each 128 MiB.
  std::size_t files_at_once = 8;

  result<array_metadata> layout(const save_job& job, const planned_tensor& tensor) const;

  /// Errors: `invalid_argument` for objects that a load could not name; `resource_limit` for more
  /// boxes and objects than a load takes.
  result<void> check_plan(std::span<const planned_array> arrays,
                          std::span<const planned_object> objects) const;

  result<message> write(const save_job& job, const shard_writes& mine) const;

  result<void> finish(const save_job& job, const save_receipts& all) const;

  /// Whether a directory has a `metadata.json` that names ("torch_dist", 1) and ("torch", 1), or
  /// only the first.
  result<bool> is_checkpoint(const any_store& root) const;
  /// Its documents, and the `.distcp` files.
  result<std::vector<std::string>> paths_of(const any_store& root) const;
};
static_assert(sharded_saver<torch_dist_saver>);

namespace detail {

/// The entry of a tensor, whose boxes are still to be told. With flat pieces of shards, a tensor of
/// shape (X, Y) in cells of (x, y) becomes one of shape (X / x, Y / y, x * y).
dcp::tensor_entry entry_of(const planned_array& array);

/// Where in the stored tensor a cell lies that is `part` of the global one, or a flat piece of it.
box stored_box(const dcp::tensor_entry& in, const planned_tensor& tensor, const box& part,
               const std::optional<flat_range>& piece);

}  // namespace detail

}}}  // namespace zarrpoint::v0::megatron

namespace zarrpoint { inline namespace v0 { namespace megatron {

/// Reads what Megatron-Core's backend ("torch_dist", 1), or `torch_dist_saver`, wrote, with any
/// number of processes: see `dcp::state_store`. An object is the bytes that were pickled, or else a
/// file of torch.save.
struct torch_dist_loader {
  static constexpr std::string_view name = "megatron_torch_dist_loader";
  static constexpr std::string_view backend = "torch_dist";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_sharded;

  result<std::shared_ptr<sharded_reader>> open(const load_job& job) const;
};
static_assert(sharded_loader<torch_dist_loader>);

}}}  // namespace zarrpoint::v0::megatron
