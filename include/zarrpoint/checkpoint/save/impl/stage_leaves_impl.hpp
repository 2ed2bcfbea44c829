// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/array/write/read_ahead.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE source_options source_options_of(const context& how, bool copy) {
  return {how.scratch->kept(), how.scratch->resource(), how.limit.memory, copy};
}

ZARRPOINT_INLINE void pin_times::note(const element_source& of) {
  const double now = of.pin_seconds();
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = lanes_.try_emplace(of.lane(), times{now, now});
  if (!is_new) at->second.last = std::max(at->second.last, now);
}

ZARRPOINT_INLINE double pin_times::seconds() const {
  const std::lock_guard lock(mutex_);
  double out = 0;
  for (const auto& [lane, time] : lanes_) out += time.last - time.first;
  return out;
}

ZARRPOINT_INLINE result<staged_leaves> stage_leaves(std::span<const leaf> leaves,
                                                    const save_options& options,
                                                    const context& how) {
  staged_leaves out;
  out.leaves.resize(leaves.size());
  leaf_stager stager(leaves, how);
  pin_times pinned;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].host_accessible()) continue;
    const auto stage = [&]() -> result<void> {
      ZARRPOINT_CHECK(leaves[i].spec());
      if (options.device_copy) {
        auto copied = leaves[i].source(source_options_of(how, true));
        if (copied) {
          out.leaves[i].on_device = *std::move(copied);
          return {};
        }
        if (copied.failure().code != errc::resource_limit) return std::move(copied).failure();
        out.warnings.push_back(
            in_quotes(leaves[i].name()) +
            ": it was copied by way of the host, not on the device: " + copied.failure().message);
      }
      ZARRPOINT_TRY(source, leaves[i].source(source_options_of(how)));
      pinned.note(*source);
      return stager.add(i, std::move(source), out.leaves[i]);
    };
    ZARRPOINT_CHECK(stage().at("save " + in_quotes(leaves[i].name())));
  }
  ZARRPOINT_CHECK(stager.run());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (element_source* const copy = out.leaves[i].on_device.get(); copy != nullptr)
      ZARRPOINT_CHECK(copy->settle().at("save " + in_quotes(leaves[i].name())));
  }
  stager.note(pinned);
  out.pin_seconds = pinned.seconds();
  return out;
}

}}}  // namespace zarrpoint::v0::detail
