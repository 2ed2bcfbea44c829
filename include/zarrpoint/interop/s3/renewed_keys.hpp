// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/remote/transport.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Seconds of UTC since 1970.
inline std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Keys that may end, `Keys::expires`: asked for anew 5 minutes before, by one thread, while the
/// others go on with those that they have.
template <class Keys>
class renewed_keys {
 public:
  using source = std::function<result<Keys>(const any_transport& by)>;

  explicit renewed_keys(source by) : by_(std::move(by)) {}

  result<Keys> now(const any_transport& by) {
    constexpr std::int64_t ahead = 300;
    if (auto keys = held(ahead)) return *std::move(keys);
    std::unique_lock asking(refreshing_, std::try_to_lock);
    if (!asking) {
      // Somebody asks already: the old ones are good for some minutes.
      if (auto keys = held(0)) return *std::move(keys);
      asking.lock();
      if (auto keys = held(ahead)) return *std::move(keys);
    }
    auto fresh = by_(by);
    if (!fresh) {
      if (auto keys = held(0)) return *std::move(keys);
      return std::move(fresh).failure().at("credentials");
    }
    const std::lock_guard lock(mutex_);
    keys_ = *fresh;
    return fresh;
  }

 private:
  /// Those that are good for longer than that, in seconds.
  std::optional<Keys> held(std::int64_t longer) {
    const std::lock_guard lock(mutex_);
    if (!keys_ || (keys_->expires && *keys_->expires - seconds_now() <= longer)) return {};
    return keys_;
  }

  source by_;
  std::mutex mutex_{};       ///< of `keys_`
  std::mutex refreshing_{};  ///< held by the one that asks
  std::optional<Keys> keys_{};
};

}}}  // namespace zarrpoint::v0::detail
