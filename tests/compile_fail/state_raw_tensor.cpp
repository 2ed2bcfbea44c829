// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a state holds bools, numbers, text, state::map, state::list
#include <zarrpoint/distributed/state/state.hpp>

#include <vector>

zarrpoint::state test(const std::vector<float>& w) {
#if defined(ZP_OK)
  return {{"w", zarrpoint::shard("w", w).value()}, {"seen", zarrpoint::local_only(w)}};
#else
  return {{"w", w}};
#endif
}
