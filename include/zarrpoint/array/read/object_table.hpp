// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the workers of an operation share about each object while they work on its inner chunks:
/// made by the first, dropped by the last. As the items of a plan are begun in order, only about as
/// many objects are held at a time as there are workers. There may be twice as many where a worker
/// takes items in rows. Thread-safe.
template <class Object>
class object_table {
 public:
  /// The object of `item`, which `make()` gives as `result<std::shared_ptr<Object>>`. While one
  /// worker makes it, others that need it wait. A failure is that of all its items, also for want
  /// of memory here: one that went on without the first might wait for it for ever.
  template <class Make>
  result<std::shared_ptr<Object>> get(const plan_item& item, Make&& make) {
    std::shared_ptr<entry> held;
    {
      const std::lock_guard lock(mutex_);
      const auto found = find(item);
      if (found != entries_.end()) {
        held = *found;
      } else if (item.object_first >= lost_) {
        return error{errc::resource_limit, "no memory"};
      } else {
        const std::size_t before = std::exchange(lost_, item.object_first);
        held = entries_.emplace_back(detail::make_counted<entry>(item));
        lost_ = before;  // no exception came
      }
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
    const auto at = find(item);
    if (--(*at)->left != 0) return false;
    *at = std::move(entries_.back());
    entries_.pop_back();
    return true;
  }

  /// Forgets all objects, while no worker has any: some items are begun again.
  void clear() {
    entries_.clear();
    lost_ = SIZE_MAX;
  }

 private:
  struct entry {
    explicit entry(const plan_item& item) : first(item.object_first), left(item.object_items) {}
    const std::size_t first;
    std::mutex making;
    std::optional<result<std::shared_ptr<Object>>> made;
    std::size_t left;  // guarded by the table's mutex
  };

  auto find(const plan_item& item) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const std::shared_ptr<entry>& one) {
      return one->first == item.object_first;
    });
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<entry>> entries_;  // few, see above
  std::size_t lost_ = SIZE_MAX;  // first item of the object from which on none is made any more
};

}}}  // namespace zarrpoint::v0::detail
