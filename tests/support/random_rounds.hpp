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

}  // namespace zarrpoint_test
