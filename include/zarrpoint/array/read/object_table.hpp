// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the workers of an operation share about each object while they work on its inner chunks:
/// made by the first, dropped by the last. As the items of a plan are begun in order, only about
/// as many objects are held at a time as there are workers. Thread-safe.
template <class Object>
class object_table {
 public:
  /// The object of `item`, which `make()` gives as `result<std::shared_ptr<Object>>`. While one
  /// worker makes it, others that need it wait. A failure is that of all its items: one that went
  /// on without the first might wait for it for ever.
  template <class Make>
  result<std::shared_ptr<Object>> get(const plan_item& item, Make&& make) {
    std::shared_ptr<entry> held;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<entry>& found = entries_[item.object_first];
      if (found == nullptr) found = std::make_shared<entry>(item.object_items);
      held = found;
    }
    const std::lock_guard lock(held->making);
    if (!held->made) {
      held->made = guarded(std::forward<Make>(make));
    }
    return *held->made;
  }

  /// One item of the object is done; true for the last.
  bool finish(const plan_item& item) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(item.object_first);
    if (--at->second->left != 0) return false;
    entries_.erase(at);
    return true;
  }

  /// Forgets all objects, while no worker has any: some items are begun again.
  void clear() { entries_.clear(); }

 private:
  struct entry {
    explicit entry(std::size_t items) : left(items) {}
    std::mutex making;
    std::optional<result<std::shared_ptr<Object>>> made;
    std::size_t left;  // guarded by the table's mutex
  };

  std::mutex mutex_;
  std::unordered_map<std::size_t, std::shared_ptr<entry>> entries_;
};

}}}  // namespace zarrpoint::v0::detail
