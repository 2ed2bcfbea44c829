// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/exec/executor.hpp>

#include <sched.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace zarrpoint { inline namespace v0 {

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

ZARRPOINT_INLINE unsigned hardware_concurrency() noexcept {
  static const unsigned quota = detail::processors_of_container();
  return std::min(quota, detail::processors_of_process());
}

}}  // namespace zarrpoint::v0
