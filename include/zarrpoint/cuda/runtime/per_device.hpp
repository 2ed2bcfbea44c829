// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// The `T` of each device that has users now: they share it, and it ends with the last of them.
/// Thread-safe.
template <class T>
class per_device {
 public:
  /// Made, as `T(device)`, by the first caller.
  static std::shared_ptr<T> share(int device) {
    table& all = known();
    const std::lock_guard lock(all.mutex);
    std::weak_ptr<T>& there = all.of[device];
    std::shared_ptr<T> out = there.lock();
    if (out == nullptr) there = out = std::make_shared<T>(device);
    return out;
  }
  /// Null when there is none.
  static std::shared_ptr<T> find(int device) {
    table& all = known();
    const std::lock_guard lock(all.mutex);
    const auto there = all.of.find(device);
    return there == all.of.end() ? nullptr : there->second.lock();
  }

 private:
  struct table {
    std::mutex mutex;
    std::map<int, std::weak_ptr<T>> of;
  };
  static table& known() {
    static table& one = *new table;  // never destroyed: static objects may be users
    return one;
  }
};

}}}  // namespace zarrpoint::v0::cuda::detail
