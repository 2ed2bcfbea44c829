// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zarrpoint_test {

/// What a test tells the fake libcufile (tests/support/fake_cufile.cpp, a shared library), and what
/// it counts. A real one writes to the device by itself; this one calls `write`.
struct fake_cufile {
  /// Puts bytes into device memory; false if they do not belong there.
  bool (*write)(void* user, void* to, const std::byte* from, std::size_t bytes) = nullptr;
  void* user = nullptr;

  // Faults.
  int driver_code = 0;
  int register_code = 0;         ///< of descriptors opened with O_DIRECT, too
  bool refuse_direct = false;    ///< does not take descriptors opened with O_DIRECT
  std::uint64_t fail_read = 0;   ///< the read of this number fails; 0: none
  std::uint64_t short_read = 0;  ///< from the read of this number on, half of what is wanted comes
  std::uint64_t end_read = 0;    ///< the read of this number gives nothing
  std::uint64_t flip_read = 0;   ///< the read of this number delivers a wrong byte

  std::atomic<std::uint64_t> opened{0};
  std::atomic<std::uint64_t> registered{0};  ///< so far
  std::atomic<std::uint64_t> live{0};        ///< registered, and not deregistered
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> misused{0};  ///< reads of what is not registered
};

}  // namespace zarrpoint_test

/// The one fake of a process; what a test finds by this name in the library.
extern "C" zarrpoint_test::fake_cufile* fake_cufile_state();
