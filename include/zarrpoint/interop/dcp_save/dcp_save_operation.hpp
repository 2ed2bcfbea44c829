// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/told_commit.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/dcp_save/dcp_described_state.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// A save, as one of the processes sees it.
class save_operation {
 public:
  save_operation(const location& where, const any_communicator& ranks,
                 const state_save_options& options, const context& how)
      : where_(where), ranks_(ranks), options_(options), how_(how) {}

  result<state_save_report> run(std::span<const sharded_tensor> shards,
                                std::span<const v0::leaf> leaves);

 private:
  bool is_root() const { return ranks_.rank() == 0; }

  result<void> run_steps(std::span<const sharded_tensor> shards, std::span<const v0::leaf> leaves);
  /// What rank 0 tells of the commit.
  result<void> read_report(const message& told);

  // On rank 0.
  result<std::vector<message>> plan(std::span<const message> described);
  result<void> open_target();
  result<message> commit(std::span<const message> receipts);
  result<void> keep();

  // On all ranks.
  result<void> join(const message& part);
  result<message> write();

  const location& where_;
  const any_communicator& ranks_;
  const state_save_options& options_;
  const context& how_;

  described_state mine_{options_, how_};

  std::unique_ptr<publication> publication_;
  std::optional<any_store> old_;  ///< what is replaced
  std::optional<any_store> store_;
  shared_plan plan_;

  std::vector<item_to_write> items_;
  std::vector<std::uint64_t> files_;
  state_save_report report_;
  v0::detail::told_commit commit_{ranks_};
};

}}}}  // namespace zarrpoint::v0::dcp::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp_save/impl/dcp_save_operation_impl.hpp>
#endif
