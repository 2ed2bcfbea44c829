// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

// What several processes ask for is read by one of them and sent to the others: bytes of the
// network for bytes of the file system.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Something that one or several processes ask for.
struct shared_request {
  struct holder {
    int rank = 0;
    std::size_t position = 0;  ///< among its tensors, and behind them its objects
    bool is_main_object = false;
  };
  std::uint64_t bytes = 0;
  std::vector<holder> holders;
  holder reader{};
};

/// Requests by what they ask for: equal on all processes.
using shared_requests = std::map<std::string, shared_request>;

/// How shared requests are read.
struct once_options {
  std::vector<int> groups{};  ///< by rank; empty: all are one group
  shard_padding padding = shard_padding::zeros;
  /// Bytes that a process has for others at a time, at most, and as many from others, or else one
  /// tensor and a copy of it. An eighth of `limits::memory` of rank 0, where that is less.
  std::uint64_t most_in_hand = std::uint64_t{64} << 20;
  /// What is larger is not sent: each process that asks for it reads it. A quarter of
  /// `limits::memory` of rank 0.
  std::uint64_t most_sent = UINT64_MAX;
};

/// What a round adds to: the bytes that this process read, and those of its messages.
struct once_tally {
  std::uint64_t& bytes;
  message_budget& counted;
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

  shared_requests requests_of(const described_states& states) const;

  void add(shared_requests& to, wire_writer id, std::uint64_t bytes,
           shared_request::holder holder) const;

  /// Tensors are read by the processes that `distribute` chooses; objects by those that hold their
  /// main replicas, or the first processes that want them. All in one order, the same on all
  /// processes.
  result<std::vector<shared_request*>> choose_readers(const shard_table& shards,
                                                      shared_requests& all) const;

  /// The same on all processes.
  std::size_t end_of_round(const std::vector<shared_request*>& order, std::size_t begin) const;

  /// Whether copies for all that want it would take much memory of the reader: then each that has
  /// it sends it on.
  bool is_large(const shared_request& one) const;

  /// As many large ones as no process has to do with two of. The same on all processes.
  std::size_t end_of_relay(const std::vector<shared_request*>& order, std::size_t begin) const;

  /// The processes that want it, each once, the reader first.
  static std::vector<int> chain_of(const shared_request& one);

  /// Each is read by its reader; then in each exchange all that have it send it to one more.
  result<void> relay(std::span<shared_request* const> round, std::vector<sharded_tensor>& tensors,
                     std::uint64_t& bytes);

  result<std::vector<message>> read_round(std::span<shared_request* const> round,
                                          std::vector<sharded_tensor>& tensors,
                                          std::vector<sharded_object>& objects, once_tally tally);

  /// Reads a tensor to its place; what others want of it as bytes.
  result<message> read_tensor(sharded_tensor& tensor, bool is_shared);

  result<void> place_round(std::span<shared_request* const> round,
                           std::span<const message> incoming, std::vector<sharded_tensor>& tensors,
                           std::vector<sharded_object>& objects);

  result<void> place(sharded_tensor& tensor, bytes_view elements);

  const process_group& group_;
  const sharded_reader& reader_;
  once_options options_;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/load/impl/read_once_impl.hpp>
#endif
