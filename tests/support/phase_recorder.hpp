// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/progress.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace test {

/// Keeps what it is told, and what is wrong with that: an end without its begin, one of another.
class phase_recorder final : public zarrpoint::phase_observer {
 public:
  struct sum {
    std::uint64_t bytes = 0, count = 0, events = 0;
  };

  void begin(const zarrpoint::phase_event& what) noexcept override {
    const std::lock_guard lock(mutex_);
    auto& open = open_[std::this_thread::get_id()];
    if (!open.empty()) within_[open.back().what][what.what] += 1;
    open.push_back(kept(what));
    sum& of = sums_[what.what];
    of.bytes += what.bytes;
    of.count += what.count;
    of.events += 1;
    items_.push_back(std::string(what.item));
  }
  void end(const zarrpoint::phase_event& what) noexcept override {
    const std::lock_guard lock(mutex_);
    auto& open = open_[std::this_thread::get_id()];
    if (open.empty()) {
      wrong_ += "an end without a begin; ";
      return;
    }
    if (!(open.back() == kept(what))) wrong_ += "an end of another; ";
    open.pop_back();
  }

  /// Empty where all that began has ended, in order.
  std::string wrong() const {
    const std::lock_guard lock(mutex_);
    std::string out = wrong_;
    for (const auto& [thread, open] : open_)
      if (!open.empty()) out += "not ended: " + std::string(name_of(open.back().what)) + "; ";
    return out;
  }
  sum of(zarrpoint::phase what) const {
    const std::lock_guard lock(mutex_);
    const auto at = sums_.find(what);
    return at == sums_.end() ? sum{} : at->second;
  }
  /// How many of `inner` lie directly in an `outer`.
  std::uint64_t within(zarrpoint::phase outer, zarrpoint::phase inner) const {
    const std::lock_guard lock(mutex_);
    const auto at = within_.find(outer);
    const auto of = at == within_.end() ? decltype(at->second.begin()){} : at->second.find(inner);
    return at == within_.end() || of == at->second.end() ? 0 : of->second;
  }
  bool has_item(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return std::find(items_.begin(), items_.end(), name) != items_.end();
  }
  std::size_t threads() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

 private:
  struct kept_event {
    zarrpoint::phase what;
    std::string item;
    std::uint64_t bytes, count;
    bool operator==(const kept_event&) const = default;
  };
  static kept_event kept(const zarrpoint::phase_event& of) {
    return {of.what, std::string(of.item), of.bytes, of.count};
  }

  mutable std::mutex mutex_;
  std::map<std::thread::id, std::vector<kept_event>> open_;
  std::map<zarrpoint::phase, sum> sums_;
  std::map<zarrpoint::phase, std::map<zarrpoint::phase, std::uint64_t>> within_;
  std::vector<std::string> items_;
  std::string wrong_;
};

}  // namespace test
