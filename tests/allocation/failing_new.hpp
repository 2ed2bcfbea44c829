// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The global `operator new` of this program fails when it is told to.

namespace test {

/// From now on the `n`-th allocation fails (1 is the next one); with `lasting` so do all after it.
void fail_allocation(long n, bool lasting) noexcept;

/// No allocation fails any more. Whether one has failed since `fail_allocation`.
bool allocations_work() noexcept;

}  // namespace test
