// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/share_regions.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

// Who reads what several processes ask for, and in which rounds it is sent: pure arithmetic, the
// same on all processes.

/// A region of a tensor, or an object, that one or several processes ask for.
struct shared_request {
  struct holder {
    int rank = 0;
    std::size_t position = 0;  ///< among its tensors, and behind them its objects
    bool is_main_object = false;
    std::uint64_t bytes = 0;  ///< of what it wants of a region
    std::uint32_t entry = 0;  ///< of a region: in the table of regions
  };
  bool is_object = false;
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
  std::uint64_t region_bytes = std::uint64_t{1} << 20;  ///< see `region_options::bytes`
};

class once_plan {
 public:
  /// `units`: what is read at a time of each form's tensor; `options` are those of rank 0. Errors:
  /// those of `share_regions` and `distribute`.
  static result<once_plan> make(described_states states, std::vector<dims> units,
                                const once_options& options);

  /// All requests in the order in which they are read.
  std::span<const shared_request* const> order() const noexcept { return order_; }

  /// How far a round goes that begins there: as far as no process has more than
  /// `most_in_hand` for others, or from them.
  std::size_t end_of_round(std::size_t begin) const;

  /// Whether all want all of it, and copies would take much memory of the reader: then each that
  /// has it sends it on.
  bool is_large(const shared_request& one) const;

  /// As many large ones as no process has to do with two of.
  std::size_t end_of_relay(std::size_t begin) const;

  /// The processes that want it, each once, the reader first.
  static std::vector<int> chain_of(const shared_request& one);

  /// What is read for a request, as a shard.
  shard_metadata region_of(const shared_request& one) const {
    return regions_.table.metadata(one.reader.entry);
  }
  /// Whether a holder may want less than all of its region, and more than that one.
  bool is_cut(const shared_request::holder& holder) const { return regions_.is_cut(holder.entry); }
  /// The elements that a holder wants, as they are sent.
  tensor_spec spec_of(const shared_request::holder& holder) const;
  /// Where they lie in the global tensor, if the region is cut.
  box part_of(const shared_request::holder& holder) const {
    return regions_.wanted(asked_, holder.entry);
  }
  /// The same of a region that is in memory, all of it.
  host_view wanted_of(const shared_request& one, const shared_request::holder& holder,
                      const std::byte* region) const;

 private:
  explicit once_plan(const once_options& options) : options_(options) {}

  void add_regions();
  void add_objects(const std::vector<gathered_object>& objects);

  shared_request& add(wire_writer id, std::uint64_t bytes, shared_request::holder holder);

  /// Regions are read by the processes that `distribute` chooses; objects by those that hold their
  /// main replicas, or the first processes that want them.
  result<void> choose_readers();

  once_options options_;
  shard_table asked_;  ///< by all processes
  shared_regions regions_;
  shared_requests all_;
  std::vector<const shared_request*> order_;
};

// What several processes ask for is read by one of them and sent to the others: bytes of the
// network for bytes of the file system.

/// What is read for a round, and where in the letter of each holder's process its part begins.
struct round_read {
  const shared_request* one = nullptr;
  std::vector<std::size_t> places;  ///< by holder
};

class once_reader {
 public:
  once_reader(const process_group& group, const sharded_reader& reader, once_options options)
      : group_(group), reader_(reader), options_(std::move(options)) {}

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
