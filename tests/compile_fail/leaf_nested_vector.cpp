// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a container of containers has no one shape
// EXPECT: xt::adapt
#include <zarrpoint/handler/leaf.hpp>

#include <vector>

void test() {
  const std::vector<std::vector<float>> rows(3);
#if defined(ZP_OK)
  zarrpoint::leaf("w/0", rows[0]);
#else
  zarrpoint::leaf("w", rows);
#endif
}
