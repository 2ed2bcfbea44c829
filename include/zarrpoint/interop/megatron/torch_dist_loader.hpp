// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>

#include <memory>
#include <string_view>

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
