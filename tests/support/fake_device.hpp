// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dtype.hpp>
#include <zarrpoint/memory/memory_space.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// A device on the host that punishes what a real one punishes. Its memory is one memfd mapped
/// twice: at the addresses that its users see, without any access, so that a touch by the host is a
/// segmentation fault; and read-write for its own copies, which are checked against the
/// allocations. A copy is only noted when it is asked for; it runs when some event is waited for,
/// among others in random order, and until then its destination holds poison. Thread-safe.
class fake_device {
 public:
  static constexpr std::byte poison{0xdb};

  struct event {
    std::uint64_t id = 0;  ///< 0 has always happened
  };

  explicit fake_device(std::uint64_t seed, std::size_t capacity = std::size_t{16} << 20)
      : capacity_(capacity), random_(seed) {
    const int file = ::memfd_create("fake_device", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(capacity)) != 0) fail("memfd");
    user_ = map(file, PROT_NONE);
    own_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
    std::memset(own_, static_cast<int>(poison), capacity);
  }
  fake_device(const fake_device&) = delete;
  fake_device& operator=(const fake_device&) = delete;
  ~fake_device() {
    ::munmap(user_, capacity_);
    ::munmap(own_, capacity_);
  }

  /// Poisoned bytes at an address that the host cannot touch, apart from all other allocations.
  std::byte* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    constexpr std::size_t gap = 256;
    if (bytes > capacity_ - used_ || capacity_ - used_ - bytes < gap) fail("out of device memory");
    const std::size_t offset = used_;
    used_ += (bytes + gap - 1) / gap * gap + gap;
    live_[offset] = bytes;
    return user_ + offset;
  }
  void free(const std::byte* memory) {
    if (memory == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto at = live_.find(static_cast<std::size_t>(memory - user_));
    if (at == live_.end()) fail("free of what is not allocated");
    std::memset(own_ + at->first, static_cast<int>(poison), at->second);
    live_.erase(at);
  }

  /// Exactly one of the two pointers of a copy is the device's.
  zp::result<event> copy_to_host(zp::mutable_bytes to, const std::byte* from) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(check(from, to.size()));
    if (!to.empty()) std::memset(to.data(), static_cast<int>(poison), to.size());
    return note({0, to.data(), from, to.size(), false});
  }
  zp::result<event> copy_from_host(std::byte* to, zp::bytes_view from) {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(check(to, from.size()));
    if (!from.empty()) std::memset(own(to), static_cast<int>(poison), from.size());
    return note({0, to, from.data(), from.size(), true});
  }

  /// Runs some of the copies that are due, in random order, and at last the one of the event.
  zp::result<void> wait(const event& until) {
    const std::lock_guard lock(mutex_);
    std::shuffle(due_.begin(), due_.end(), random_);
    for (std::size_t n = due_.empty() ? 0 : random_() % due_.size(); n > 0; --n) run_last();
    const auto at =
        std::find_if(due_.begin(), due_.end(), [&](const copy& c) { return c.id == until.id; });
    if (at != due_.end()) {
      std::swap(*at, due_.back());
      run_last();
    }
    const auto failed = failures_.find(until.id);
    if (failed == failures_.end()) return {};
    return failed->second;
  }

  /// Registration of host memory, counted so that a test sees that all was undone.
  zp::result<void> pin(zp::mutable_bytes host) {
    const std::lock_guard lock(mutex_);
    ++pinned_[host.data()];
    return {};
  }
  void unpin(zp::mutable_bytes host) {
    const std::lock_guard lock(mutex_);
    const auto at = pinned_.find(host.data());
    if (at == pinned_.end()) fail("unpin of what is not pinned");
    if (--at->second == 0) pinned_.erase(at);
  }

  /// Makes the copy after `copies` more fail when it is waited for.
  void fail_after(std::uint64_t copies) {
    const std::lock_guard lock(mutex_);
    failing_ = last_id_ + copies + 1;
  }

  std::size_t live_allocations() const {
    return locked([&] { return live_.size(); });
  }
  std::size_t pinned_ranges() const {
    return locked([&] { return pinned_.size(); });
  }
  /// Copies asked for that nobody has waited for and that did not run by chance.
  std::size_t due_copies() const {
    return locked([&] { return due_.size(); });
  }
  /// Copies asked for so far.
  std::uint64_t copies() const {
    return locked([&] { return last_id_; });
  }

 private:
  struct copy {
    std::uint64_t id;
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
    bool to_device;
  };

  /// A test that breaks its own fake has no result worth having.
  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "fake_device: %s\n", what);
    std::abort();
  }
  std::byte* map(int file, int protection) const {
    void* const memory = ::mmap(nullptr, capacity_, protection, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("mmap");
    return static_cast<std::byte*>(memory);
  }
  std::byte* own(const std::byte* user) const { return own_ + (user - user_); }

  template <class F>
  std::uint64_t locked(F&& f) const {
    const std::lock_guard lock(mutex_);
    return f();
  }

  zp::result<void> check(const std::byte* user, std::size_t bytes) const {
    if (user >= user_ && user < user_ + capacity_) {
      const auto offset = static_cast<std::size_t>(user - user_);
      const auto after = live_.upper_bound(offset);
      if (after != live_.begin()) {
        const auto& [begin, size] = *std::prev(after);
        if (offset - begin <= size && bytes <= size - (offset - begin)) return {};
      }
    }
    if (bytes == 0) return {};
    return zp::error{zp::errc::device, "fake_device: a copy outside of every allocation"};
  }

  event note(copy c) {
    c.id = ++last_id_;
    due_.push_back(c);
    return {c.id};
  }
  void run_last() {
    const copy c = due_.back();
    due_.pop_back();
    const auto checked = check(c.to_device ? c.to : c.from, c.bytes);
    if (!checked) {
      failures_[c.id] = checked.failure();
    } else if (c.id == failing_) {
      failures_[c.id] = zp::error{zp::errc::device, "fake_device: the copy failed as ordered"};
    } else if (c.bytes != 0) {
      std::memcpy(c.to_device ? own(c.to) : c.to, c.to_device ? c.from : own(c.from), c.bytes);
    }
  }

  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::byte* user_ = nullptr;
  std::byte* own_ = nullptr;
  std::size_t used_ = 0;
  std::map<std::size_t, std::size_t> live_;  ///< offset -> bytes
  std::map<const std::byte*, int> pinned_;
  std::vector<copy> due_;
  std::map<std::uint64_t, zp::error> failures_;
  std::uint64_t last_id_ = 0;
  std::uint64_t failing_ = 0;
};

/// The memory of a fake device as a memory space.
struct fake_space {
  using event = fake_device::event;
  static constexpr bool host_accessible = false;
  static constexpr const char* name = "fake";

  fake_device* device = nullptr;

  zp::result<void> wait(const event& e) const {
    return e.id == 0 ? zp::result<void>{} : device->wait(e);
  }
  zp::result<event> copy_to_host(zp::mutable_bytes to, const std::byte* from) const {
    return device->copy_to_host(to, from);
  }
  zp::result<event> copy_from_host(std::byte* to, zp::bytes_view from) const {
    return device->copy_from_host(to, from);
  }
  zp::result<void> pin(zp::mutable_bytes host) const { return device->pin(host); }
  void unpin(zp::mutable_bytes host) const { device->unpin(host); }
};
static_assert(zp::memory_space<fake_space>);

/// A dense tensor on a fake device, with the members that the structural handler looks for.
template <zp::element T>
class device_tensor {
 public:
  using value_type = T;
  using space = fake_space;

  device_tensor() = default;
  explicit device_tensor(const fake_space& where) : space_(where) {}
  device_tensor(const fake_space& where, const std::vector<std::size_t>& shape) : space_(where) {
    resize(shape);
  }
  device_tensor(device_tensor&& other) noexcept { swap(other); }
  device_tensor& operator=(device_tensor&& other) noexcept {
    device_tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~device_tensor() {
    if (space_.device != nullptr) space_.device->free(bytes());
  }

  const std::vector<std::size_t>& shape() const { return shape_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const {
    std::size_t count = 1;
    for (const std::size_t extent : shape_) count *= extent;
    return count;
  }
  fake_space get_space() const { return space_; }
  fake_device::event ready() const { return ready_; }

  void resize(const std::vector<std::size_t>& shape) {
    space_.device->free(bytes());
    shape_ = shape;
    data_ = reinterpret_cast<T*>(space_.device->allocate(size() * sizeof(T)));
  }

  /// Starts a copy to the device; whoever reads it has to wait for `ready()`. The values stay where
  /// they are until then.
  void upload(std::span<const T> values) {
    const zp::bytes_view from = std::as_bytes(values);
    ready_ = space_.copy_from_host(bytes(), from).value();
  }
  /// What is on the device by now.
  std::vector<T> download() const {
    std::vector<T> out(size());
    space_.wait(ready_).value();
    const auto to = std::as_writable_bytes(std::span(out));
    space_.wait(space_.copy_to_host(to, bytes()).value()).value();
    return out;
  }

 private:
  std::byte* bytes() const { return reinterpret_cast<std::byte*>(data_); }
  void swap(device_tensor& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(data_, other.data_);
    std::swap(shape_, other.shape_);
    std::swap(ready_, other.ready_);
  }

  fake_space space_;
  T* data_ = nullptr;
  std::vector<std::size_t> shape_ = {0};
  fake_device::event ready_;
};

}  // namespace zarrpoint_test
