// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/checkpoint/save/write_leaf.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/memory_bound_for.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<written_leaves> write_leaves(const any_store& store,
                                                     std::span<const planned_leaf> planned,
                                                     const write_options& options) {
  const context& how = *options.how;
  written_leaves out;
  out.records.resize(planned.size());
  out.leaves.resize(planned.size());
  pin_times pinned;
  memory_bound_for leaves(how.executor, planned.size(), {.stop = how.stop});
  ZARRPOINT_CHECK(leaves.run(
      [&](std::size_t i) -> result<void> {
        const auto start = std::chrono::steady_clock::now();
        auto written = write_leaf(store, planned[i], options, pinned);
        if (!written)
          return std::move(written).failure().at("save " + in_quotes(planned[i].value->name()));
        written_leaf& leaf = out.leaves[i];
        leaf_record& record = out.records[i];
        record = *std::move(written);
        leaf.stored_bytes = 0;  // this may be another try
        for (const auto& [key, object] : record.objects.objects()) leaf.stored_bytes += object.size;
        leaf.seconds = seconds_since(start);
        return {};
      },
      [&](std::size_t refused) -> std::optional<std::size_t> {
        how.scratch->drop_idle();
        // What was staged on a device may have been read.
        const auto again = planned.subspan(refused);
        const bool can_repeat =
            std::all_of(again.begin(), again.end(), [](const planned_leaf& one) {
              return one.early == nullptr || one.early->on_device == nullptr;
            });
        return can_repeat ? std::optional(refused) : std::nullopt;
      }));
  out.pin_seconds = pinned.seconds();
  return out;
}

}}}  // namespace zarrpoint::v0::detail
