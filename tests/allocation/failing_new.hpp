// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The global `operator new` of this program fails when it is told to.

#include <cstddef>

namespace test {

/// From now on the `n`-th allocation fails (1 is the next one); with `lasting` so do all after it.
void fail_allocation(long n, bool lasting) noexcept;

/// How many more until that one; below 1 it was reached.
long allocations_left() noexcept;

/// The `n`-th allocation of `bytes` fails, after a pause in which other threads go on.
void fail_slowly(std::size_t bytes, long n) noexcept;

/// No allocation fails any more. Whether one has failed since `fail_allocation`, or `fail_slowly`.
bool allocations_work() noexcept;

}  // namespace test
