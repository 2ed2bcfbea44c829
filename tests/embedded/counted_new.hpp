// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts what goes through the global `operator new` of this program:
// tests/embedded/counted_new.cpp.

#include <cstddef>

namespace test {

struct new_count {
  std::size_t live = 0;  ///< bytes handed out and not given back
  std::size_t peak = 0;  ///< the most that were live at once, since `restart_peak`
};

new_count counted_new() noexcept;

/// From now on the peak is that of what is live at most from here on. Returns what is live.
std::size_t restart_peak() noexcept;

/// Counts memory from elsewhere, too.
void count_taken(std::size_t bytes) noexcept;
void count_given_back(std::size_t bytes) noexcept;

}  // namespace test
