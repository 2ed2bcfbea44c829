// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Locks what others hold for less time than it takes to fall asleep and be woken: asks some times
/// before it sleeps.
inline std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) {
  for (int i = 0; i < 100; ++i) {
    if (mutex.try_lock()) return std::unique_lock(mutex, std::adopt_lock);
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
  }
  return std::unique_lock(mutex);
}

}}}  // namespace zarrpoint::v0::detail
