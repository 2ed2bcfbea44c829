// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/exec/task.hpp>

#include <sched.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace zarrpoint::inline v0 {

/// Something that runs tasks: a small copyable handle with `execute(task)`, which may run the task
/// at once, later, on any thread, or drop it. A member `concurrency()` says how many tasks run at a
/// time; without one the number of processors is assumed.
template <class E>
concept executor = std::copy_constructible<E> && requires(const E& handle, task work) {
  handle.execute(std::move(work));
};

/// Runs each task at once, on the calling thread.
struct inline_executor {
  void execute(task work) const { work(); }
  unsigned concurrency() const noexcept { return 1; }
};
static_assert(executor<inline_executor>);

namespace detail {

/// The processors' worth of time that a `cpu.max` of cgroup v2 leaves, rounded up: its text is
/// `<quota> <period>` in microseconds, or `max <period>`. UINT_MAX: no limit, or not understood.
inline unsigned processors_of_quota(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  std::uint64_t quota = 0, period = 0;
  const auto first = std::from_chars(text.data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return UINT_MAX;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  const bool complete = second.ptr == end || *second.ptr == '\n';
  if (second.ec != std::errc() || !complete || quota == 0 || period == 0) return UINT_MAX;
  return static_cast<unsigned>(std::min<std::uint64_t>(ceil_div(quota, period), UINT_MAX));
}

/// What the container that we are in, if any, leaves to us: more threads would only be throttled.
inline unsigned processors_of_container() noexcept {
  std::FILE* const file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return UINT_MAX;
  char text[64];
  const std::size_t size = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  return processors_of_quota({text, size});
}

inline unsigned processors_of_process() noexcept {
#if defined(__linux__)
  cpu_set_t allowed;  // what a container or taskset leaves to us; fails beyond 1024 processors
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return static_cast<unsigned>(CPU_COUNT(&allowed));
#endif
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<unsigned>(online) : 1;
}

}  // namespace detail

/// The processors that this process may use, at least 1. A quota of its container is read once.
inline unsigned hardware_concurrency() noexcept {
  static const unsigned quota = detail::processors_of_container();
  return std::min(quota, detail::processors_of_process());
}

/// Any executor behind one type: a shared handle, inline by default.
class any_executor {
 public:
  any_executor() = default;

  template <class E>
    requires(!std::same_as<E, any_executor> && executor<E>)
  any_executor(E handle) {
    if constexpr (!std::same_as<E, inline_executor>)
      model_ = std::make_shared<const model<E>>(std::move(handle));
  }

  void execute(task work) const {
    if (model_ == nullptr) {
      work();
    } else {
      model_->execute(std::move(work));
    }
  }

  /// How many tasks run at a time, at least 1.
  unsigned concurrency() const { return model_ == nullptr ? 1 : model_->concurrency(); }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual void execute(task work) const = 0;
    virtual unsigned concurrency() const = 0;
  };

  template <class E>
  struct model final : interface {
    explicit model(E wrapped) : handle(std::move(wrapped)) {}
    void execute(task work) const override { handle.execute(std::move(work)); }
    unsigned concurrency() const override {
      if constexpr (requires {
                      { handle.concurrency() } -> std::convertible_to<unsigned>;
                    }) {
        const unsigned count = handle.concurrency();
        return count == 0 ? 1 : count;
      } else {
        return hardware_concurrency();
      }
    }
    E handle;
  };

  std::shared_ptr<const interface> model_;
};
static_assert(executor<any_executor>);

}  // namespace zarrpoint::inline v0
