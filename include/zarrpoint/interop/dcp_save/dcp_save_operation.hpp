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
#include <zarrpoint/interop/dcp_save/dcp_archive.hpp>
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

  // Describe.
  result<void> describe(std::span<const sharded_tensor> shards, std::span<const v0::leaf> leaves);
  result<void> add_leaf(const v0::leaf& value);
  result<void> add_value(const std::string& name, const torch::value& value,
                         std::vector<path_step> path);
  result<void> add_document(const v0::leaf& from, bytes_view text);
  result<void> add_shard(const sharded_tensor& shard);
  result<void> add_tensor(tensor_source from, const tensor_spec& whole);
  result<std::vector<box>> boxes_of(const tensor_source& from, const tensor_spec& whole) const;
  std::vector<path_step> path_of(const std::string& name) const;

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

  std::vector<v0::leaf> leaves_;
  held_state mine_;
  std::vector<tensor_source> sources_;  ///< one for each of the tensors
  std::vector<archive_layout> values_;  ///< one for each of the values

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
