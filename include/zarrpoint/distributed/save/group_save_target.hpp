// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/stored_place.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What lies where several processes save to, as their saver sees it: rank 0 asks.
struct group_save_target {
  const any_strategy& saver;
  const context& how;

  /// Refuses a target that is there and must not be replaced.
  result<void> check(const stored_place& target, const location& where,
                     const save_options& storage) const;

  /// Of a target that may be replaced, whether it is there.
  result<bool> holds_checkpoint(const any_store& root) const;

  static result<bool> holds_something(const any_store& root);

  /// The paths of the saver's checkpoint, of ours, or of both where both are there; nothing where
  /// the saver does not say which files are its own.
  result<std::optional<std::vector<std::string>>> paths_of(const any_store& root) const;

  static any_store beneath(const stored_place& target);

  /// A warning that nothing was kept, and why.
  std::string removed_all(std::string_view why) const;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/impl/group_save_target_impl.hpp>
#endif
