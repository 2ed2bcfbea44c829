// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/sharded_factory.hpp>
#include <zarrpoint/distributed/state/state.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<void> sharded_factory::validate() const {
  if (key_.empty()) return error{errc::invalid_argument, "factory without a key"};
  return {};
}

ZARRPOINT_INLINE sharded_factory sharded_factory::without_data() const {
  sharded_factory out = *this;
  out.data_.reset();
  return out;
}

ZARRPOINT_INLINE sharded_factory sharded_factory::with_key(std::string key) const {
  sharded_factory out = *this;
  out.key_ = std::move(key);
  return out;
}

ZARRPOINT_INLINE sharded_factory sharded_factory::with_replica(replica_id replica) const {
  sharded_factory out = *this;
  out.replica_ = std::move(replica);
  return out;
}

ZARRPOINT_INLINE result<state> sharded_factory::merge(state loaded) const {
  return functions_->merge(std::move(loaded)).at("factory \"" + key_ + "\"");
}

ZARRPOINT_INLINE error sharded_factory::failure(const char* what) const {
  return error{errc::invalid_argument, "factory \"" + key_ + "\": " + what};
}

}}  // namespace zarrpoint::v0
