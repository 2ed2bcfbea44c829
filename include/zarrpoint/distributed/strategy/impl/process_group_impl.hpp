// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/distributed/strategy/zarr_loader.hpp>
#include <zarrpoint/distributed/strategy/zarr_saver.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE strategy_choice::strategy_choice(strategy_id id) : choice_(std::move(id)) {}

ZARRPOINT_INLINE strategy_choice::strategy_choice(any_strategy one) : choice_(std::move(one)) {}

ZARRPOINT_INLINE strategy_choice::strategy_choice(std::string_view backend, int version)
    : choice_(strategy_id{std::string(backend), version}) {}

ZARRPOINT_INLINE result<any_strategy> strategy_choice::resolve(strategy_action action,
                                                               const strategy_table& known) const {
  if (const auto* id = std::get_if<strategy_id>(&choice_)) return known.find(action, *id);
  const any_strategy& one = std::get<any_strategy>(choice_);
  if (one && one.action() == action) return one;
  return error{errc::invalid_argument,
               "strategy " + to_string(one) + " cannot " + std::string(to_string(action))};
}

namespace detail {

ZARRPOINT_INLINE result<void> check_groups(const std::vector<int>& groups, int processes) {
  if (groups.empty() || groups.size() == static_cast<std::size_t>(processes)) return {};
  return error{errc::invalid_argument,
               "groups must be given for each process: " + std::to_string(groups.size()) +
                   " were given, there are " + std::to_string(processes) + " processes"};
}

}  // namespace detail

ZARRPOINT_INLINE result<strictness> parse_strictness(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(strictness::ignore_all); ++i) {
    if (to_string(static_cast<strictness>(i)) == text) return static_cast<strictness>(i);
  }
  return error{errc::invalid_argument, "Invalid strict flag: " + std::string(text)};
}

}}  // namespace zarrpoint::v0
