// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: the build function of a sharded_factory is called, const, with a
#include <zarrpoint/distributed/state/sharded_factory.hpp>

zarrpoint::sharded_factory test() {
#if defined(ZP_OK)
  const auto build = [](const zarrpoint::factory_source<int>& from) {
    return zarrpoint::state(from.data);
  };
#else
  const auto build = [calls = 0](const zarrpoint::factory_source<int>&) mutable {
    return zarrpoint::state(++calls);  // not pure
  };
#endif
  return {"f", 1, build, [](zarrpoint::state loaded) { return loaded; }};
}
