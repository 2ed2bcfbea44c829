// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/pending.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

struct pending_state::sync {
  enum class phase { waiting, running, done };
  std::mutex mutex;
  std::condition_variable changed;
  phase at = phase::waiting;
};

ZARRPOINT_INLINE std::shared_ptr<pending_state::sync> pending_state::make_sync() {
  return detail::make_counted<sync>();
}

ZARRPOINT_INLINE void pending_state::start() {
  {
    const std::lock_guard lock(sync_->mutex);
    if (sync_->at != sync::phase::waiting) return;
    sync_->at = sync::phase::running;
  }
  run();
  const std::lock_guard lock(sync_->mutex);
  sync_->at = sync::phase::done;
  sync_->changed.notify_all();
}

ZARRPOINT_INLINE void pending_state::wait() {
  start();
  std::unique_lock lock(sync_->mutex);
  sync_->changed.wait(lock, [this] { return sync_->at == sync::phase::done; });
}

ZARRPOINT_INLINE bool pending_state::done() const {
  const std::lock_guard lock(sync_->mutex);
  return sync_->at == sync::phase::done;
}

}}}  // namespace zarrpoint::v0::detail
