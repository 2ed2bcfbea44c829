// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include "support/fake_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;

class fake_device;

/// The streams of a fake device and what is due on them: each runs its operations in order, a
/// seeded scheduler chooses among them. Not thread-safe.
class fake_streams {
 public:
  struct event {
    fake_device* owner = nullptr;
    fake_streams* streams = nullptr;  ///< of the owner
    std::size_t stream = 0;
    std::uint64_t id = 0;  ///< 0 has always happened
  };
  struct operation {
    bool works = false;      ///< a copy, a fill or a kernel
    bool marks = false;      ///< an event
    event after{};           ///< of any stream, to be reached first
    bool has_table = false;  ///< that names what it uses: known when it runs, and all till then
    std::vector<byte_range> device_side{};
    std::vector<byte_range> host_side{};
    std::function<zp::result<void>()> run{};
  };

  fake_streams(fake_device& owner, std::uint64_t seed)
      : owner_(&owner), random_(seed), streams_(1) {}

  /// A number below `bound`.
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::size_t add() {
    streams_.emplace_back();
    return streams_.size() - 1;
  }
  /// What is due still runs, some time.
  void end(std::size_t stream) { streams_[stream].alive = false; }
  bool is_alive(std::size_t stream) const { return streams_[stream].alive; }

  /// Nothing runs any more, and all events tell why.
  void lose(zp::error why) {
    for (stream_state& each : streams_) each.due.clear();
    lost_ = std::move(why);
  }
  bool is_lost() const { return lost_.has_value(); }
  /// What failed is forgotten, but for events that are past.
  void recover() {
    lost_.reset();
    for (stream_state& each : streams_) each.failed.reset();
  }

  event note(std::size_t stream, operation one) {
    streams_[stream].due.push_back({++last_id_, std::move(one)});
    return {owner_, this, stream, last_id_};
  }

  /// Operations due that work on memory.
  std::size_t due() const {
    std::size_t out = 0;
    for (const stream_state& stream : streams_) {
      for (const auto& [id, one] : stream.due) out += one.works ? 1 : 0;
    }
    return out;
  }
  /// Whether something that is due reads or writes there.
  bool is_wanted(const byte_range& memory, bool on_device) const {
    for (const stream_state& stream : streams_) {
      for (const auto& [id, one] : stream.due) {
        if (on_device && one.has_table) return true;
        for (const byte_range& used : on_device ? one.device_side : one.host_side) {
          if (used.meets(memory)) return true;
        }
      }
    }
    return false;
  }

  void run_any() {
    const std::size_t first = random_() % streams_.size();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      stream_state& stream = streams_[(first + i) % streams_.size()];
      if (stream.due.empty()) continue;
      run_front(stream);
      return;
    }
  }
  /// Runs all that is due.
  void drain() {
    for (stream_state& stream : streams_) {
      while (!stream.due.empty()) run_front(stream);
    }
  }
  bool is_past(const event& e) const { return streams_[e.stream].done >= e.id; }
  /// Runs what the event of this device stands for. What failed before it is its error, and that of
  /// all later ones.
  zp::result<void> reach(const event& until) {
    stream_state& stream = streams_[until.stream];
    while (stream.done < until.id && !stream.due.empty()) run_front(stream);
    if (lost_) return *lost_;
    const auto failed = failures_.find(until.id);
    if (failed == failures_.end()) return {};
    return failed->second;
  }

 private:
  struct noted {
    std::uint64_t id;
    operation what;
  };
  struct stream_state {
    std::deque<noted> due{};
    std::uint64_t done = 0;  ///< the last operation that ran
    bool alive = true;
    std::optional<zp::error> failed{};
  };

  void run_front(stream_state& stream) {
    const noted one = std::move(stream.due.front());
    stream.due.pop_front();
    const event& after = one.what.after;
    if (after.id != 0) {
      if (const auto before = after.streams->reach(after); !before)
        stream.failed = before.failure();
    }
    if (one.what.run) {
      if (const auto ran = one.what.run(); !ran && !stream.failed) stream.failed = ran.failure();
    }
    stream.done = one.id;
    if (one.what.marks && stream.failed) failures_.emplace(one.id, *stream.failed);
  }

  fake_device* owner_;
  std::mt19937_64 random_;
  std::deque<stream_state> streams_;
  std::map<std::uint64_t, zp::error> failures_;  ///< of events
  std::optional<zp::error> lost_;
  std::uint64_t last_id_ = 0;
};

}  // namespace zarrpoint_test
