// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/load/once_plan.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// What several processes ask for is read by one of them and sent to the others: bytes of the
// network for bytes of the file system.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What is read for a round, and where in the letter of each holder's process its part begins.
struct round_read {
  const shared_request* one = nullptr;
  std::vector<std::size_t> places;  ///< by holder
};

class once_reader {
 public:
  once_reader(const process_group& group, const sharded_reader& reader, once_options options);

  /// Fills all tensors and objects; the bytes of elements that this process read. Collective.
  result<std::uint64_t> read(std::vector<sharded_tensor>& tensors,
                             std::vector<sharded_object>& objects);

 private:
  /// Those of rank 0 count: all must do the same rounds.
  result<void> share_options();

  /// What all processes ask for, on each of them.
  result<described_states> describe(const std::vector<sharded_tensor>& tensors,
                                    const std::vector<sharded_object>& objects) const;

  /// What is read at a time of each form's tensor, as rank 0 has it: all must cut alike.
  result<std::vector<dims>> share_units(const shard_table& asked) const;

  /// Each is read by its reader; then in each exchange all that have it send it to one more.
  result<void> relay(std::span<const shared_request* const> round,
                     std::vector<sharded_tensor>& tensors);

  /// Reads what is this process's to read, puts its own parts in their places, and the others' into
  /// letters: elements in the order of the round, then objects.
  result<std::vector<message>> read_round(std::span<const shared_request* const> round,
                                          std::vector<sharded_tensor>& tensors,
                                          std::vector<sharded_object>& objects,
                                          message_budget& counted);

  /// The elements of a round, by the threads of the group.
  result<void> read_all(std::span<const round_read> reads, std::vector<sharded_tensor>& tensors,
                        std::vector<message>& letters);

  /// What nobody else wants goes to its place at once.
  result<void> read_alone(const shared_request& one, const sharded_tensor& tensor) const;

  result<void> read_region(const shared_request& one, std::byte* into) const;

  /// Puts what a holder wants to its place.
  result<void> place(const shared_request::holder& holder, const sharded_tensor& tensor,
                     const host_view& wanted) const;

  result<void> place_round(std::span<const shared_request* const> round,
                           std::span<const message> incoming, std::vector<sharded_tensor>& tensors,
                           std::vector<sharded_object>& objects);

  /// A view of what a holder wants of a tensor; all of it, if the region is not cut.
  result<sharded_tensor> target_of(const shared_request::holder& holder,
                                   const sharded_tensor& tensor) const;

  const process_group& group_;
  const sharded_reader& reader_;
  once_options options_;
  const once_plan* plan_ = nullptr;
  std::vector<message> spare_;   ///< letters that were read, whose memory is used again
  std::vector<message> memory_;  ///< of each worker: a region
  std::uint64_t bytes_ = 0;      ///< that this process read
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/load/impl/read_once_impl.hpp>
#endif
