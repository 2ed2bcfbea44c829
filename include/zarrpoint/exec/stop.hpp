// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// Asks whether work should end early. A default one never stops. Copies are cheap and may be
/// asked from any thread.
class stop_token {
 public:
  stop_token() = default;

  /// Tells whether `stop_source::request_stop` was called.
  bool stop_requested() const noexcept {
    return flag_ != nullptr && flag_->load(std::memory_order_acquire);
  }
  /// Tells whether a source is behind it.
  bool stop_possible() const noexcept { return flag_ != nullptr; }

 private:
  friend class stop_source;
  explicit stop_token(std::shared_ptr<const std::atomic<bool>> flag) : flag_(std::move(flag)) {}

  std::shared_ptr<const std::atomic<bool>> flag_;
};

/// Stops the work that holds its tokens; for good. Copies share one state.
class stop_source {
 public:
  stop_source() : flag_(detail::make_counted<std::atomic<bool>>(false)) {}

  stop_token token() const { return stop_token(flag_); }
  void request_stop() const noexcept { flag_->store(true, std::memory_order_release); }
  bool stop_requested() const noexcept { return flag_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}}  // namespace zarrpoint::v0
