// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/save/plan_message.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Stage: from the shards of this process, and what others send, to the cells that it writes.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A cell, or a part of it, of a shard that is not flat.
result<staged> stage_part(const sharded_tensor& shard, const box& part, memory_resource& resource);

/// Copies of elements as they are now, so that the caller may change its tensors: on the host or,
/// with `save_options::device_copy`, on their device where that has room.
class cell_copies {
 public:
  cell_copies(const context& how, bool on_devices) : how_(how), on_devices_(on_devices) {}

  /// Has a cell of the tensor `key` be a copy of what it is.
  result<void> add(cell_write& of, std::string_view key);
  /// Once, after the last: returns when the tensors may be changed. Warnings go to `told`.
  result<void> finish(std::vector<std::string>& told);

 private:
  const context& how_;
  const bool on_devices_;
  std::vector<std::pair<std::string, std::shared_ptr<std::unique_ptr<element_source>>>> under_way_;
  std::vector<std::string> warnings_;
};

/// Makes cells of shards.
class cell_assembler {
 public:
  cell_assembler(const process_part& part, std::span<const sharded_tensor> shards, int rank);

  /// What other processes are sent, by rank, in the order of the plan; counted before they
  /// are made, where there is something to count in.
  result<std::vector<message>> pieces(int ranks, const context& how,
                                      message_budget* counted = nullptr) const;

  /// How elements go from shards to what is written.
  struct assembly_options {
    cell_copies* copies = nullptr;  ///< where all are copied now; else most are staged when written
    bool in_pieces = false;         ///< the plan has flat pieces that are written one by one
  };

  /// All that this process writes. `pieces` are those of other processes, by rank.
  result<shard_writes> assemble(std::span<const message> pieces, const context& how,
                                const assembly_options& by) const;

 private:
  /// By the number of the first piece, which is of this process.
  using joined_shards = std::map<std::uint32_t, std::shared_ptr<const tensor>>;

  result<const sharded_tensor*> shard_of(const cell_source& source) const;

  /// Whether a cell is a flat piece of a shard here, which is then set.
  result<bool> take_piece(cell_write& to, std::span<const cell_source> sources) const;

  static result<void> check_part(const sharded_tensor& shard, const box& part);

  /// A cell, or a part of it, of a shard joined of its flat pieces.
  static std::function<result<staged>(memory_resource&)> part_of(
      std::shared_ptr<const tensor> whole, const shard_metadata& about, const box& part);

  /// One shard out of its flat pieces, of which some are here and some came from others.
  result<tensor> join_pieces(const tensor_spec& cell, std::span<const cell_source> sources,
                             std::span<const message> pieces, std::vector<std::size_t>& taken,
                             const context& how) const;

  /// A whole tensor out of its shards, of which some are here and some came from others.
  result<tensor> join_boxes(const planned_tensor& of, std::span<const cell_source> sources,
                            std::span<const message> pieces, std::vector<std::size_t>& taken,
                            const context& how) const;

  const process_part& part_;
  std::span<const sharded_tensor> shards_;
  int rank_;
};

}}}  // namespace zarrpoint::v0::detail
