// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/strategy/strategy.hpp>

namespace zarrpoint { inline namespace v0 {

/// Reads shards of our own format, and of any Zarr hierarchy.
struct zarr_loader {
  static constexpr std::string_view name = "zarr_loader";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::load_sharded;

  result<std::shared_ptr<sharded_reader>> open(const load_job& job) const;
};
static_assert(sharded_loader<zarr_loader>);

/// Reads nothing of what all processes have in common: for a `group_load_options::common` of
/// callers that want tensors and objects only, or whose common part is damaged or of a backend that
/// the program has not.
struct no_common_loader {
  static constexpr std::string_view name = "no_common_loader";
  static constexpr std::string_view backend = "none";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_common;

  result<void> check_backend(std::string_view) const { return {}; }
  result<void> check_version(int) const { return {}; }

  result<node> load_common(const load_job&) const { return node(); }
};
static_assert(common_loader<no_common_loader>);

/// Reads what `json_common_saver` wrote; null where there is no such leaf.
struct json_common_loader {
  static constexpr std::string_view name = "json_common_loader";
  static constexpr std::string_view backend = "json";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_common;

  result<node> load_common(const load_job& job) const;
};
static_assert(common_loader<json_common_loader>);

}}  // namespace zarrpoint::v0
