// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A unit that brings the bodies itself, in a program whose other units do not.

#include <zarrpoint/zarrpoint.hpp>

#include <vector>

#ifdef ZARRPOINT_COMPILED
#error "this unit must be header-only"
#endif

namespace zp = zarrpoint;

zp::result<void> save_here(const zp::location& where, const std::vector<float>& values) {
  ZARRPOINT_CHECK(zp::save(where, {{"values", values}, {"step", 3}}));
  return {};
}
