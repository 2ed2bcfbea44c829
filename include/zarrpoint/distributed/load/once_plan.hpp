// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/share_regions.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

// Who reads what several processes ask for, and in which rounds it is sent: pure arithmetic, the
// same on all processes.

namespace zarrpoint { inline namespace v0 { namespace detail {

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
  box part_of(const shared_request::holder& holder) const;
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

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/load/impl/once_plan_impl.hpp>
#endif
