// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Objects of any types that operations leave for those that come after: a ring of pinned memory
/// for each device, say. One for each pair of a type and a number. Thread-safe.
class spare_objects {
 public:
  /// The object of that type and number; `make()`, a `std::shared_ptr<T>`, is asked for it the
  /// first time. Null is handed on and not kept. `make` runs under a lock: it must not come back
  /// here.
  template <class T, class Make>
  std::shared_ptr<T> get(int key, Make&& make) {
    const std::lock_guard lock(mutex_);
    for (const entry& one : entries_) {
      if (one.type == &tag<T> && one.key == key) return std::static_pointer_cast<T>(one.object);
    }
    std::shared_ptr<T> made = std::forward<Make>(make)();
    if (made != nullptr) entries_.push_back({&tag<T>, key, made});
    return made;
  }

 private:
  template <class T>
  static inline const char tag = 0;  // its address stands for the type, without RTTI

  struct entry {
    const void* type;
    int key;
    std::shared_ptr<void> object;
  };
  std::mutex mutex_;
  std::vector<entry> entries_;
};

}}}  // namespace zarrpoint::v0::detail
