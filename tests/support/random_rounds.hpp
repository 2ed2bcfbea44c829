// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zarrpoint_test {

/// Whether a part of the cases is enough: under the sanitizers, which are some ten times as slow,
/// and look at every step of each.
#if defined(ZARRPOINT_TEST_SANITIZED)
inline constexpr bool is_thinned = true;
#else
inline constexpr bool is_thinned = false;
#endif

/// Rounds of a random test: a quarter of them where they are thinned.
template <class T>
constexpr T random_rounds(T plain) {
  return is_thinned ? plain / 4 : plain;
}

/// Whether only what several threads do is looked at: with `doctest::skip`, of long tests of what
/// one thread does.
#if defined(ZARRPOINT_TEST_THREADS)
inline constexpr bool is_about_threads = true;
#else
inline constexpr bool is_about_threads = false;
#endif

}  // namespace zarrpoint_test
