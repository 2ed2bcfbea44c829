// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE strategy_table::strategy_table(std::vector<any_strategy> entries)
    : entries_(detail::make_counted<const std::vector<any_strategy>>(std::move(entries))) {}

ZARRPOINT_INLINE const detail::common_saver_interface* any_strategy::common_saver() const noexcept {
  return as<detail::common_saver_interface>(strategy_action::save_common);
}

ZARRPOINT_INLINE const detail::sharded_saver_interface* any_strategy::sharded_saver()
    const noexcept {
  return as<detail::sharded_saver_interface>(strategy_action::save_sharded);
}

ZARRPOINT_INLINE const detail::common_loader_interface* any_strategy::common_loader()
    const noexcept {
  return as<detail::common_loader_interface>(strategy_action::load_common);
}

ZARRPOINT_INLINE const detail::sharded_loader_interface* any_strategy::sharded_loader()
    const noexcept {
  return as<detail::sharded_loader_interface>(strategy_action::load_sharded);
}

ZARRPOINT_INLINE result<void> any_strategy::check_reads(const strategy_id& wrote) const {
  if (model_ == nullptr) return {};
  ZARRPOINT_CHECK(model_->check_backend(wrote.backend));
  return model_->check_version(wrote.version);
}

namespace detail {

ZARRPOINT_INLINE error refuse_to_read(std::string_view name, const strategy_id& own,
                                      const std::string& what) {
  return {errc::unsupported, "strategy " + std::string(name) + to_string(own) + " does not read " +
                                 what + ", which wrote the checkpoint"};
}

}  // namespace detail

ZARRPOINT_INLINE std::string to_string(const any_strategy& one) {
  return one ? one.name() + to_string(one.id()) : std::string("none");
}

ZARRPOINT_INLINE std::span<const any_strategy> strategy_table::entries() const noexcept {
  return entries_ != nullptr ? std::span<const any_strategy>(*entries_)
                             : std::span<const any_strategy>();
}

ZARRPOINT_INLINE result<any_strategy> strategy_table::find(strategy_action action,
                                                           const strategy_id& id) const {
  std::string there;
  bool other_version = false;
  for (const any_strategy& one : entries()) {
    if (one.action() != action) continue;
    if (one.id() == id) return one;
    other_version = other_version || one.id().backend == id.backend;
    there += (there.empty() ? "" : ", ") + to_string(one.id());
  }
  return error{errc::unsupported,
               "no strategy to " + std::string(to_string(action)) + " for " + to_string(id) +
                   (other_version ? ", which is another version of a known backend" : "") +
                   "; this program has " + (there.empty() ? "none" : there)};
}

}}  // namespace zarrpoint::v0
