// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_space.hpp>

#include "support/fake_kernels.hpp"
#include "support/fake_memory.hpp"
#include "support/fake_streams.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
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
  static constexpr std::byte poison = fake_memory::poison;
  using fault = device_fault;

  using event = fake_streams::event;

  struct counters {
    std::size_t live_allocations = 0;
    std::size_t live_bytes = 0;
    std::size_t peak_bytes = 0;  ///< the most that were live at once
    std::size_t pinned_ranges = 0;
    std::size_t most_pinned_bytes = 0;  ///< the most that were pinned at once
    std::size_t due_operations = 0;     ///< copies, fills and kernels that did not run yet
    std::uint64_t copies = 0;           ///< between host and device, whether they have run or not
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
      : memory_(capacity), streams_(*this, seed), number_(number) {}
  fake_device(const fake_device&) = delete;
  fake_device& operator=(const fake_device&) = delete;

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
    return streams_.add();
  }
  /// What it was asked for so far still runs, some time; later calls with it fail.
  void destroy_stream(std::size_t stream) {
    const std::lock_guard lock(mutex_);
    streams_.end(stream);
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
    streams_.recover();
  }

  /// Runs all that any stream was asked for.
  void drain() {
    const std::lock_guard lock(mutex_);
    streams_.drain();
  }

  counters count() const {
    const std::lock_guard lock(mutex_);
    counters out = counters_;
    out.live_allocations = memory_.allocations();
    out.live_bytes = memory_.live_bytes();
    out.peak_bytes = memory_.peak_bytes();
    out.pinned_ranges = pinned_.size();
    out.due_operations = streams_.due();
    return out;
  }
  std::size_t live_allocations() const { return count().live_allocations; }
  std::size_t pinned_ranges() const { return count().pinned_ranges; }
  std::size_t due_operations() const { return count().due_operations; }
  std::uint64_t copies() const { return count().copies; }

  /// Memory on stream 0, for the tensors of a test; it does not count as a call.
  std::byte* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::byte* const out = memory_.reserve(bytes);
    if (out == nullptr) fake_device_fails("out of device memory");
    memory_.begin(out, bytes);
    return out;
  }
  /// Gives back what any stream allocated. The stream's operations so far may still use it.
  void free(std::byte* memory, std::size_t stream = 0) {
    const std::lock_guard lock(mutex_);
    if (memory == nullptr) return;
    const std::size_t bytes = memory_.release(memory);
    operation release;
    release.device_side = {{memory, bytes}};
    release.run = [this, memory, bytes]() -> zp::result<void> {
      memory_.end(memory, bytes);
      return {};
    };
    if (!streams_.is_alive(stream)) streams_.drain();  // there is no order to be freed in
    if (streams_.is_lost() || !streams_.is_alive(stream)) {
      static_cast<void>(release.run());
    } else {
      streams_.note(stream, std::move(release));
    }
  }

 private:
  friend struct fake_space;

  using range = byte_range;
  using operation = fake_streams::operation;

  std::byte* own(const std::byte* user) const { return memory_.own(user); }
  zp::error failure(const std::string& what) const {
    return {zp::errc::device, "fake:" + std::to_string(number_) + ": " + what};
  }

  /// The table and all that it names lies on the device.
  zp::result<void> run_scatter(const std::byte* table, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      zp::device_segment one;
      std::memcpy(&one, own(table) + i * sizeof one, sizeof one);
      auto* const to = reinterpret_cast<std::byte*>(one.to);
      const auto* const from = reinterpret_cast<const std::byte*>(one.from);
      if (!memory_.is_allocated({to, one.bytes}, false) ||
          !memory_.is_allocated({from, one.bytes}, false))
        return failure("a segment outside of every allocation");
      if (one.bytes != 0) std::memmove(own(to), own(from), one.bytes);
    }
    return {};
  }
  /// The same of checksums.
  zp::result<void> run_compare_crc32c(const std::byte* table, std::size_t count, std::byte* marks) {
    for (std::size_t i = 0; i < count; ++i) {
      zp::device_checksum one;
      std::memcpy(&one, own(table) + i * sizeof one, sizeof one);
      const auto* const from = reinterpret_cast<const std::byte*>(one.from);
      if (one.from % 16 != 0 || one.bytes == 0 || !memory_.is_allocated({from, one.bytes}, false))
        return failure("a checksum of what is not aligned, nothing, or not allocated");
      if (zp::crc32c({own(from), one.bytes}) != one.crc32c) continue;
      zp::store_le<std::uint64_t>(own(marks), zp::load_le<std::uint64_t>(own(marks)) + one.mark);
    }
    return {};
  }
  /// The same of literals; `failed` is set where a stream is none.
  zp::result<void> run_decode_literals(const std::byte* table, std::size_t count,
                                       std::byte* failed) {
    for (std::size_t i = 0; i < count; ++i) {
      zp::device_literals one;
      std::memcpy(&one, own(table) + i * sizeof one, sizeof one);
      auto* const to = reinterpret_cast<std::byte*>(one.to);
      const auto* const from = reinterpret_cast<const std::byte*>(one.from);
      std::size_t bytes = one.kind == zp::device_literals::stored ? one.bytes : 1;
      if (one.kind > zp::device_literals::repeated)
        bytes = std::accumulate(one.sizes.begin(), one.sizes.end(), std::size_t{0});
      if (!memory_.is_allocated({to, one.bytes}, false) ||
          !memory_.is_allocated({from, bytes}, false))
        return failure("literals outside of every allocation");
      if (!run_literals(one, own(to), own(from))) *own(failed) = std::byte{1};
    }
    return {};
  }
  /// The same of planes.
  zp::result<void> run_join_planes(const std::byte* table, std::size_t count, std::size_t most) {
    for (std::size_t i = 0; i < count; ++i) {
      zp::device_planes one;
      std::memcpy(&one, own(table) + i * sizeof one, sizeof one);
      auto* const to = reinterpret_cast<std::byte*>(one.to);
      if (one.width > zp::device_planes::most || one.width * one.count > most)
        return failure("more planes than the call says");
      if (!memory_.is_allocated({to, one.width * one.count}, false))
        return failure("elements outside of every allocation");
      for (std::size_t p = 0; p < one.width; ++p) {
        const auto* const from = reinterpret_cast<const std::byte*>(one.from[p]);
        if (!memory_.is_allocated({from, one.count}, false))
          return failure("a plane outside of every allocation");
        for (std::size_t e = 0; e < one.count; ++e) own(to)[e * one.width + p] = own(from)[e];
      }
    }
    return {};
  }
  /// The same of symbols that are counted, and of those that are encoded.
  zp::result<void> run_count_symbols(const std::byte* table, std::size_t count) {
    return for_each_symbols(
        table, count,
        [](const zp::device_symbols& one) {
          return one.kind > zp::device_literals::repeated && one.bytes <= zp::device_symbols::most
                     ? zp::device_symbols::counts_bytes
                     : SIZE_MAX;
        },
        [](const zp::device_symbols& one, std::byte* to, const std::byte* from) {
          zarrpoint_test::run_count_symbols(one, to, from);
        });
  }
  zp::result<void> run_encode_symbols(const std::byte* table, std::size_t count,
                                      std::byte* failed) {
    return for_each_symbols(
        table, count,
        [](const zp::device_symbols& one) {
          if (one.kind == zp::device_literals::stored) return std::size_t{one.bytes};
          return std::accumulate(one.sizes.begin(), one.sizes.end(), std::size_t{0});
        },
        [&](const zp::device_symbols& one, std::byte* to, const std::byte* from) {
          if (!zarrpoint_test::run_encode_symbols(one, to, from)) *own(failed) = std::byte{1};
        });
  }
  template <class Made, class F>
  zp::result<void> for_each_symbols(const std::byte* table, std::size_t count, Made&& made, F&& f) {
    for (std::size_t i = 0; i < count; ++i) {
      zp::device_symbols one;
      std::memcpy(&one, own(table) + i * sizeof one, sizeof one);
      auto* const to = reinterpret_cast<std::byte*>(one.to);
      const auto* const from = reinterpret_cast<const std::byte*>(one.from);
      const std::size_t read = one.bytes == 0 ? 0 : (one.bytes - std::size_t{1}) * one.step + 1;
      if (!memory_.is_allocated({to, made(one)}, false) ||
          !memory_.is_allocated({from, read}, false))
        return failure("symbols outside of every allocation");
      f(one, own(to), own(from));
    }
    return {};
  }
  /// Each call that may fail begins here.
  zp::result<void> enter(std::optional<std::size_t> stream, std::initializer_list<fault> faults) {
    ++counters_.calls;
    if (streams_.is_lost()) return failure("the device was lost");
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
        case fault::stream_gone: streams_.end(*stream); break;
        case fault::lost:
          streams_.lose(failure("the device was lost"));
          return failure("the device was lost");
        default: return failure(std::string("failed as ordered: ") + to_string(now));
      }
    }
    if (stream && !streams_.is_alive(*stream))
      return failure("stream " + std::to_string(*stream) + " was destroyed");
    return {};
  }
  /// Notes what works on memory, checked now and when it runs.
  zp::result<void> work(std::size_t stream, operation one) {
    for (const range& used : one.device_side) {
      if (!memory_.is_allocated(used, true))
        return failure("an address outside of every allocation");
    }
    if (streams_.below(4) == 0) streams_.run_any();
    one.works = true;
    const bool fails = std::exchange(late_, false);
    one.run = [this, fails, used = one.device_side,
               run = std::move(one.run)]() -> zp::result<void> {
      for (const range& each : used) {
        if (!memory_.is_allocated(each, false))
          return failure("device memory used before it was allocated or after it was freed");
      }
      if (fails) return failure("failed as ordered: late_copy");
      return run();
    };
    streams_.note(stream, std::move(one));
    return {};
  }

  /// A stream of the device's own; a new one where a test has destroyed it.
  zp::result<std::size_t> lane(std::size_t i) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {}));
    while (lanes_.size() <= i) lanes_.push_back(streams_.add());
    if (!streams_.is_alive(lanes_[i])) lanes_[i] = streams_.add();
    return lanes_[i];
  }

  zp::result<std::byte*> allocate_on(std::size_t stream, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(stream, {fault::allocation}));
    std::byte* const out = memory_.reserve(bytes);
    if (out == nullptr)
      return zp::error{zp::errc::resource_limit,
                       failure("no memory for " + std::to_string(bytes) + " bytes").message};
    operation one;
    one.device_side = {{out, bytes}};
    one.run = [this, out, bytes]() -> zp::result<void> {
      memory_.begin(out, bytes);
      return {};
    };
    streams_.note(stream, std::move(one));
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
    if (!memory_.is_allocated(device, true)) return failure("a copy outside of every allocation");
    const std::uint64_t bytes = std::uint64_t{rows.width} * rows.count;
    ++counters_.copies;
    (c.to_host ? counters_.bytes_to_host : counters_.bytes_from_host) += bytes;
    if (!is_pinned(host)) counters_.pageable_bytes += bytes;
    if (c.to_host && !streams_.is_wanted(host, false)) poison_rows(c.host, rows.host_pitch, rows);
    if (!c.to_host && !streams_.is_wanted(device, true))
      poison_rows(own(c.device), rows.device_pitch, rows);
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
    one.has_table = kind == &kernel_counts::scatter || kind == &kernel_counts::compare_crc32c ||
                    kind == &kernel_counts::decode_literals ||
                    kind == &kernel_counts::join_planes || kind == &kernel_counts::count_symbols ||
                    kind == &kernel_counts::encode_symbols;
    one.run = std::move(run);
    return work(stream, std::move(one));
  }

  zp::result<event> record(std::size_t stream) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(stream, {fault::record}));
    ++counters_.events;
    operation one;
    one.marks = true;
    return streams_.note(stream, std::move(one));
  }
  zp::result<void> follow(std::size_t stream, const event& until) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(stream, {}));
    if (until.id == 0) return {};
    operation one;
    one.after = until;
    streams_.note(stream, std::move(one));
    return {};
  }
  zp::result<void> wait(const event& until) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {}));
    if (until.id == 0) return {};
    for (std::uint64_t n = streams_.below(4); n > 0; --n) streams_.run_any();
    return until.streams->reach(until);
  }
  zp::result<bool> happened(const event& until) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {}));
    if (streams_.below(2) == 0) streams_.run_any();
    if (until.id == 0) return true;
    if (!until.streams->is_past(until)) return false;
    ZARRPOINT_CHECK(until.streams->reach(until));
    return true;
  }
  zp::result<void> check(const std::byte* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(enter(std::nullopt, {}));
    if (memory_.is_allocated({memory, bytes}, true)) return {};
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
    const std::size_t all =
        std::accumulate(pinned_.begin(), pinned_.end(), std::size_t{0},
                        [](std::size_t sum, const range& one) { return sum + one.bytes; });
    counters_.most_pinned_bytes = std::max(counters_.most_pinned_bytes, all);
    ++counters_.pins;
    return {};
  }
  void unpin(zp::mutable_bytes host) {
    const std::lock_guard lock(mutex_);
    const range wanted{host.data(), host.size()};
    const auto at = std::find_if(pinned_.begin(), pinned_.end(), [&](const range& one) {
      return one.first == wanted.first && one.bytes == wanted.bytes;
    });
    if (at == pinned_.end()) fake_device_fails("unpin of what is not pinned");
    if (streams_.is_wanted(wanted, false)) fake_device_fails("unpin of what copies still use");
    pinned_.erase(at);
  }
  bool is_pinned(const range& host) const {
    return std::any_of(pinned_.begin(), pinned_.end(),
                       [&](const range& one) { return one.holds(host); });
  }

  static inline std::mutex mutex_;

  fake_memory memory_;
  fake_streams streams_;
  int number_;
  std::vector<std::size_t> lanes_;
  std::vector<range> pinned_;
  counters counters_;
  bool kernels_ = true;
  bool late_ = false;
  bool fired_ = false;
  std::optional<fault> armed_;
  std::uint64_t until_fault_ = 0;
};

}  // namespace zarrpoint_test
