// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device_space.hpp>

#include "support/fake_kernels.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// What a fake device can be told to do wrong.
enum class device_fault {
  allocation,   ///< an allocation is refused
  copy,         ///< a copy or a kernel is refused by the call that asks for it
  late_copy,    ///< a copy or a kernel fails when it runs; events recorded after it tell
  record,       ///< no event can be recorded
  pin,          ///< host memory cannot be registered
  stream_gone,  ///< the stream of a call is destroyed under it
  lost,         ///< the device is gone: everything fails from then on, and nothing more runs
};
inline constexpr device_fault device_faults[] = {
    device_fault::allocation, device_fault::copy, device_fault::late_copy,
    device_fault::record,     device_fault::pin,  device_fault::stream_gone,
    device_fault::lost,
};
inline const char* to_string(device_fault fault) {
  constexpr const char* names[] = {"allocation", "copy",        "late_copy", "record",
                                   "pin",        "stream_gone", "lost"};
  return names[static_cast<int>(fault)];
}

/// A device on the host that punishes what a real one punishes. Its memory is one memfd mapped
/// twice: at the addresses that its users see, without any access, so that a touch by the host is a
/// segmentation fault; and read-write for its own operations, which are checked against the
/// allocations. An operation is only noted when it is asked for. Each stream runs its own in order,
/// and a seeded scheduler chooses among the streams whenever the device is called; a wait runs what
/// its event stands for. Until then the destination holds poison, unless an earlier operation that
/// is due still needs what is there. All of it is thread-safe; all fake devices share one lock, so
/// that events go from one to the other.
class fake_device {
 public:
  static constexpr std::byte poison{0xdb};
  using fault = device_fault;

  struct event {
    fake_device* owner = nullptr;
    std::size_t stream = 0;
    std::uint64_t id = 0;  ///< 0 has always happened
  };

  struct counters {
    std::size_t live_allocations = 0;
    std::size_t live_bytes = 0;
    std::size_t peak_bytes = 0;  ///< the most that were live at once
    std::size_t pinned_ranges = 0;
    std::size_t due_operations = 0;  ///< copies, fills and kernels that did not run yet
    std::uint64_t copies = 0;        ///< between host and device, whether they have run or not
    std::uint64_t bytes_to_host = 0;
    std::uint64_t bytes_from_host = 0;
    std::uint64_t pageable_bytes = 0;  ///< of both, those whose host memory was not pinned
    std::uint64_t events = 0;
    std::uint64_t pins = 0;
    std::uint64_t calls = 0;  ///< of anything that may fail
    kernel_counts kernels{};
  };

  /// `capacity` bounds the bytes that are live at once; `number` is what `device()` says.
  explicit fake_device(std::uint64_t seed, std::size_t capacity = std::size_t{64} << 20,
                       int number = 0)
      : capacity_(capacity),
        arena_(std::max(capacity * 2, std::size_t{256} << 20)),
        number_(number),
        random_(seed) {
    const int file = ::memfd_create("fake_device", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(arena_)) != 0) fail("memfd");
    user_ = map(file, PROT_NONE);
    own_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
    streams_.resize(1);
  }
  fake_device(const fake_device&) = delete;
  fake_device& operator=(const fake_device&) = delete;
  ~fake_device() {
    ::munmap(user_, arena_);
    ::munmap(own_, arena_);
  }

  int number() const { return number_; }
  /// Kernels are there unless a test turns them off.
  void set_kernels(bool on) {
    const std::lock_guard lock(mutex_);
    kernels_ = on;
  }
  bool has_kernels() const {
    const std::lock_guard lock(mutex_);
    return kernels_;
  }

  std::size_t new_stream() {
    const std::lock_guard lock(mutex_);
    streams_.emplace_back();
    return streams_.size() - 1;
  }
  /// What it was asked for so far still runs; later calls with it fail.
  void destroy_stream(std::size_t stream) {
    const std::lock_guard lock(mutex_);
    end_stream(stream);
  }

  /// The call that could bring the fault after `after` more such calls brings it. One at a time.
  void arm(fault what, std::uint64_t after) {
    const std::lock_guard lock(mutex_);
    armed_ = what;
    until_fault_ = after;
    fired_ = false;
  }
  /// Makes the copy after `copies` more fail when it is waited for.
  void fail_after(std::uint64_t copies) { arm(fault::late_copy, copies); }
  /// Whether the fault that was armed last has come to pass.
  bool fired() const {
    const std::lock_guard lock(mutex_);
    return fired_;
  }
  /// No fault is armed, nothing is lost, what failed is forgotten; destroyed streams stay so.
  void recover() {
    const std::lock_guard lock(mutex_);
    armed_.reset();
    lost_ = false;
    for (stream_state& stream : streams_) stream.failed.reset();
  }

  counters count() const {
    const std::lock_guard lock(mutex_);
    counters out = counters_;
    out.live_allocations = known_.size();
    out.pinned_ranges = pinned_.size();
    for (const stream_state& stream : streams_) {
      for (const operation& one : stream.due) out.due_operations += one.works ? 1 : 0;
    }
    return out;
  }
  std::size_t live_allocations() const { return count().live_allocations; }
  std::size_t pinned_ranges() const { return count().pinned_ranges; }
  std::size_t due_operations() const { return count().due_operations; }
  std::uint64_t copies() const { return count().copies; }

  /// Memory on stream 0, for the tensors of a test; it does not count as a call.
  std::byte* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::byte* const out = reserve(bytes);
    if (out == nullptr) fail("out of device memory");
    run_allocation(out, bytes);
    return out;
  }
  /// Gives back what any stream allocated. The stream's operations so far may still use it.
  void free(std::byte* memory, std::size_t stream = 0) {
    const std::lock_guard lock(mutex_);
    if (memory == nullptr) return;
    const auto at = known_.find(offset_of(memory));
    if (at == known_.end()) fail("free of what is not allocated");
    const std::size_t bytes = at->second;
    counters_.live_bytes -= bytes;
    known_.erase(at);
    operation release;
    release.device_side = {{memory, bytes}};
    release.run = [this, memory, bytes]() -> zp::result<void> {
      std::memset(own(memory), static_cast<int>(poison), bytes);
      alive_.erase(offset_of(memory));
      return {};
    };
    if (lost_ || !streams_[stream].alive) {
      static_cast<void>(release.run());
    } else {
      note(stream, std::move(release));
    }
  }

 private:
  friend struct fake_space;

  struct range {
    const std::byte* first = nullptr;
    std::size_t bytes = 0;
    bool meets(const range& other) const {
      return first < other.first + other.bytes && other.first < first + bytes;
    }
    bool holds(const range& other) const {
      return other.first >= first && other.first + other.bytes <= first + bytes;
    }
  };
  struct operation {
    std::uint64_t id = 0;
    bool works = false;  ///< a copy, a fill or a kernel
    bool marks = false;  ///< an event
    event after{};       ///< of any stream, to be reached first
    std::vector<range> device_side{};
    std::vector<range> host_side{};
    std::function<zp::result<void>()> run{};
  };
  struct stream_state {
    std::deque<operation> due{};
    std::uint64_t done = 0;  ///< the last operation that ran
    bool alive = true;
    std::optional<zp::error> failed{};  ///< told by all later events
  };

  /// A test that breaks its own fake has no result worth having; nor has a library that does.
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "fake_device: %s\n", what);
    std::abort();
  }
  std::byte* map(int file, int protection) const {
    void* const memory = ::mmap(nullptr, arena_, protection, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("mmap");
    return static_cast<std::byte*>(memory);
  }
  std::byte* own(const std::byte* user) const { return own_ + (user - user_); }
  std::size_t offset_of(const std::byte* user) const {
    return static_cast<std::size_t>(user - user_);
  }
  zp::error failure(const std::string& what) const {
    return {zp::errc::device, "fake:" + std::to_string(number_) + ": " + what};
  }

  static bool is_within(const std::map<std::size_t, std::size_t>& allocations, std::size_t offset,
                        std::size_t bytes) {
    const auto after = allocations.upper_bound(offset);
    if (after == allocations.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return offset - begin <= size && bytes <= size - (offset - begin);
  }
  bool is_ours(const std::byte* memory) const { return memory >= user_ && memory < user_ + arena_; }
  /// By what the host knows, or by what the device has come to.
  bool is_allocated(const range& used, bool by_host) const {
    if (used.bytes == 0) return true;
    return is_ours(used.first) &&
           is_within(by_host ? known_ : alive_, offset_of(used.first), used.bytes);
  }

  /// An address apart from all others; null when too much is live.
  std::byte* reserve(std::size_t bytes) {
    constexpr std::size_t gap = 256;
    if (bytes > capacity_ - counters_.live_bytes) return nullptr;
    const std::size_t size = (bytes + gap - 1) / gap * gap + gap;
    bool wrapped = false;
    for (;;) {
      if (arena_ - next_ < size) {
        if (wrapped) return nullptr;
        wrapped = true;
        next_ = 0;
      }
      const auto in_the_way =
          std::max(last_end(known_, next_ + size), last_end(alive_, next_ + size));
      if (in_the_way <= next_) break;
      next_ = (in_the_way + gap - 1) / gap * gap + gap;
      if (next_ > arena_) next_ = arena_;
    }
    const std::size_t offset = next_;
    next_ += size;
    known_[offset] = bytes;
    counters_.live_bytes += bytes;
    counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.live_bytes);
    return user_ + offset;
  }
  /// The end of the last allocation that begins before `offset`, one byte at least.
  static std::size_t last_end(const std::map<std::size_t, std::size_t>& allocations,
                              std::size_t offset) {
    const auto after = allocations.lower_bound(offset);
    if (after == allocations.begin()) return 0;
    const auto& [begin, size] = *std::prev(after);
    return begin + std::max<std::size_t>(size, 1);
  }
  /// The table and all that it names lies on the device.
  zp::result<void> run_scatter(const std::byte* table, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      zp::device_segment one;
      std::memcpy(&one, own(table) + i * sizeof one, sizeof one);
      auto* const to = reinterpret_cast<std::byte*>(one.to);
      const auto* const from = reinterpret_cast<const std::byte*>(one.from);
      if (!is_allocated({to, one.bytes}, false) || !is_allocated({from, one.bytes}, false))
        return failure("a segment outside of every allocation");
      if (one.bytes != 0) std::memmove(own(to), own(from), one.bytes);
    }
    return {};
  }
  void run_allocation(std::byte* memory, std::size_t bytes) {
    alive_[offset_of(memory)] = bytes;
    std::memset(own(memory), static_cast<int>(poison), bytes);
  }

  /// Each call that may fail begins here.
  zp::result<void> enter(std::optional<std::size_t> stream, std::initializer_list<fault> faults) {
    ++counters_.calls;
    if (lost_) return failure("the device was lost");
    const bool is_due =
        armed_ && (*armed_ == fault::lost || (stream && *armed_ == fault::stream_gone) ||
                   std::find(faults.begin(), faults.end(), *armed_) != faults.end());
    if (is_due && until_fault_-- == 0) {
      const fault now = *armed_;
      armed_.reset();
      fired_ = true;
      switch (now) {
        case fault::allocation:
          return zp::error{zp::errc::resource_limit, failure("no memory, as ordered").message};
        case fault::late_copy: late_ = true; break;
        case fault::stream_gone: end_stream(*stream); break;
        case fault::lost:
          lost_ = true;
          for (stream_state& each : streams_) each.due.clear();
          return failure("the device was lost");
        default: return failure(std::string("failed as ordered: ") + to_string(now));
      }
    }
    if (stream && !streams_[*stream].alive)
      return failure("stream " + std::to_string(*stream) + " was destroyed");
    return {};
  }
  void end_stream(std::size_t stream) {
    while (!streams_[stream].due.empty()) run_front(streams_[stream]);
    streams_[stream].alive = false;
  }

  event note(std::size_t stream, operation one) {
    one.id = ++last_id_;
    streams_[stream].due.push_back(std::move(one));
    return {this, stream, last_id_};
  }
  /// Whether something that is due reads or writes there.
  bool is_wanted(const range& memory, bool on_device) const {
    for (const stream_state& stream : streams_) {
      for (const operation& one : stream.due) {
        for (const range& used : on_device ? one.device_side : one.host_side) {
          if (used.meets(memory)) return true;
        }
      }
    }
    return false;
  }

  /// Notes what works on memory, checked now and when it runs.
  zp::result<void> work(std::size_t stream, operation one) {
    for (const range& used : one.device_side) {
      if (!is_allocated(used, true)) return failure("an address outside of every allocation");
    }
    if (random_() % 4 == 0) run_any();
    one.works = true;
    const bool fails = std::exchange(late_, false);
    one.run = [this, fails, used = one.device_side,
               run = std::move(one.run)]() -> zp::result<void> {
      for (const range& each : used) {
        if (!is_allocated(each, false))
          return failure("device memory used before it was allocated or after it was freed");
      }
      if (fails) return failure("failed as ordered: late_copy");
      return run();
    };
    note(stream, std::move(one));
    return {};
  }

  void run_front(stream_state& stream) {
    operation one = std::move(stream.due.front());
    stream.due.pop_front();
    if (one.after.id != 0) {
      fake_device& other = *one.after.owner;
      other.reach(one.after);
      if (const auto* failed = other.failure_of(one.after)) stream.failed = *failed;
    }
    if (one.run) {
      if (auto ran = one.run(); !ran && !stream.failed) stream.failed = std::move(ran).failure();
    }
    stream.done = one.id;
    if (one.marks && stream.failed) failures_.emplace(one.id, *stream.failed);
  }
  void reach(const event& until) {
    stream_state& stream = streams_[until.stream];
    while (stream.done < until.id && !stream.due.empty()) run_front(stream);
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
  const zp::error* failure_of(const event& past) const {
    const auto at = failures_.find(past.id);
    return at == failures_.end() ? nullptr : &at->second;
  }

  zp::result<std::byte*> allocate_on(std::size_t stream, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(stream, {fault::allocation}));
    std::byte* const out = reserve(bytes);
    if (out == nullptr)
      return zp::error{zp::errc::resource_limit,
                       failure("no memory for " + std::to_string(bytes) + " bytes").message};
    operation one;
    one.device_side = {{out, bytes}};
    one.run = [this, out, bytes]() -> zp::result<void> {
      run_allocation(out, bytes);
      return {};
    };
    note(stream, std::move(one));
    return out;
  }

  /// The device's and the host's side of a copy of rows.
  struct copy_sides {
    std::byte* device = nullptr;
    std::byte* host = nullptr;  ///< written only when `to_host`
    zp::row_block rows{};
    bool to_host = false;
  };
  zp::result<void> copy(std::size_t stream, copy_sides c) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(stream, {fault::copy, fault::late_copy}));
    zp::row_block& rows = c.rows;
    if (rows.count <= 1) rows.device_pitch = rows.host_pitch = rows.width;
    if (rows.device_pitch < rows.width || rows.host_pitch < rows.width)
      return failure("a pitch smaller than the width");
    if (rows.width == 0 || rows.count == 0) return {};
    const range device{c.device, (rows.count - 1) * rows.device_pitch + rows.width};
    const range host{c.host, (rows.count - 1) * rows.host_pitch + rows.width};
    if (!is_allocated(device, true)) return failure("a copy outside of every allocation");
    const std::uint64_t bytes = std::uint64_t{rows.width} * rows.count;
    ++counters_.copies;
    (c.to_host ? counters_.bytes_to_host : counters_.bytes_from_host) += bytes;
    if (!is_pinned(host)) counters_.pageable_bytes += bytes;
    if (c.to_host && !is_wanted(host, false)) poison_rows(c.host, rows.host_pitch, rows);
    if (!c.to_host && !is_wanted(device, true)) poison_rows(own(c.device), rows.device_pitch, rows);
    operation one;
    one.device_side = {device};
    one.host_side = {host};
    one.run = [this, c]() -> zp::result<void> {
      for (std::size_t i = 0; i < c.rows.count; ++i) {
        std::byte* const there = own(c.device) + i * c.rows.device_pitch;
        std::byte* const here = c.host + i * c.rows.host_pitch;
        std::memcpy(c.to_host ? here : there, c.to_host ? there : here, c.rows.width);
      }
      return {};
    };
    return work(stream, std::move(one));
  }
  static void poison_rows(std::byte* first, std::size_t pitch, const zp::row_block& rows) {
    for (std::size_t i = 0; i < rows.count; ++i)
      std::memset(first + i * pitch, static_cast<int>(poison), rows.width);
  }

  /// What runs on device memory alone: `run` is handed the translation of addresses.
  template <class F>
  zp::result<void> launch(std::size_t stream, std::uint64_t kernel_counts::*kind,
                          std::vector<range> used, F run) {
    const std::lock_guard lock(mutex_);
    if (kind != nullptr && !kernels_)
      return zp::error{zp::errc::unsupported, failure("it has no kernels").message};
    ZARRPOINT_CHECK(enter(stream, {fault::copy, fault::late_copy}));
    if (kind != nullptr) ++(counters_.kernels.*kind);
    operation one;
    one.device_side = std::move(used);
    one.run = std::move(run);
    return work(stream, std::move(one));
  }

  zp::result<event> record(std::size_t stream) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(stream, {fault::record}));
    ++counters_.events;
    operation one;
    one.marks = true;
    return note(stream, std::move(one));
  }
  zp::result<void> follow(std::size_t stream, const event& until) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(stream, {}));
    if (until.id == 0) return {};
    operation one;
    one.after = until;
    note(stream, std::move(one));
    return {};
  }
  zp::result<void> wait(const event& until) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {}));
    if (until.id == 0) return {};
    for (std::uint64_t n = random_() % 4; n > 0; --n) run_any();
    return until.owner->told(until);
  }
  zp::result<void> told(const event& until) {
    if (lost_) return failure("the device was lost");
    reach(until);
    if (const auto* failed = failure_of(until)) return *failed;
    return {};
  }
  zp::result<bool> happened(const event& until) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {}));
    if (random_() % 2 == 0) run_any();
    if (until.id == 0) return true;
    if (until.owner->streams_[until.stream].done < until.id) return false;
    ZARRPOINT_CHECK(until.owner->told(until));
    return true;
  }
  zp::result<void> check(const std::byte* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {}));
    if (is_allocated({memory, bytes}, true)) return {};
    return zp::error{zp::errc::invalid_argument,
                     failure("not " + std::to_string(bytes) + " bytes of its memory").message};
  }

  /// Registration of host memory, counted so that a test sees that all was undone.
  zp::result<void> pin(zp::mutable_bytes host) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {fault::pin}));
    const range wanted{host.data(), host.size()};
    for (const range& one : pinned_) {
      if (one.meets(wanted)) return failure("host memory is pinned already");
    }
    pinned_.push_back(wanted);
    ++counters_.pins;
    return {};
  }
  void unpin(zp::mutable_bytes host) {
    const std::lock_guard lock(mutex_);
    const range wanted{host.data(), host.size()};
    const auto at = std::find_if(pinned_.begin(), pinned_.end(), [&](const range& one) {
      return one.first == wanted.first && one.bytes == wanted.bytes;
    });
    if (at == pinned_.end()) fail("unpin of what is not pinned");
    if (is_wanted(wanted, false)) fail("unpin of what copies still use");
    pinned_.erase(at);
  }
  bool is_pinned(const range& host) const {
    return std::any_of(pinned_.begin(), pinned_.end(),
                       [&](const range& one) { return one.holds(host); });
  }

  static inline std::mutex mutex_;

  std::size_t capacity_;
  std::size_t arena_;
  int number_;
  std::mt19937_64 random_;
  std::byte* user_ = nullptr;
  std::byte* own_ = nullptr;
  std::size_t next_ = 0;
  std::map<std::size_t, std::size_t> known_;  ///< offset -> bytes, as the host asked
  std::map<std::size_t, std::size_t> alive_;  ///< the same, as far as the streams have come
  std::vector<range> pinned_;
  std::deque<stream_state> streams_;
  std::map<std::uint64_t, zp::error> failures_;  ///< of events
  std::uint64_t last_id_ = 0;
  counters counters_;
  bool kernels_ = true;
  bool lost_ = false;
  bool late_ = false;
  bool fired_ = false;
  std::optional<fault> armed_;
  std::uint64_t until_fault_ = 0;
};

}  // namespace zarrpoint_test
