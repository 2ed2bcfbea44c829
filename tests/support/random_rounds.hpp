// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zarrpoint_test {

/// Rounds of a random test: a quarter of them under the sanitizers, which are some ten times as
/// slow, and look at every step of each.
template <class T>
constexpr T random_rounds(T plain) {
#if defined(ZARRPOINT_TEST_SANITIZED)
  return plain / 4;
#else
  return plain;
#endif
}

/// Whether only what several threads do is looked at: with `doctest::skip`, of long tests of what
/// one thread does.
#if defined(ZARRPOINT_TEST_THREADS)
inline constexpr bool is_about_threads = true;
#else
inline constexpr bool is_about_threads = false;
#endif

}  // namespace zarrpoint_test
