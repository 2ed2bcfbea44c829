// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/context.hpp>

#include <doctest/doctest.h>

namespace default_context_test {

using namespace zarrpoint;

TEST_CASE("the default context has the machine's threads; one of the caller's own has none") {
  CHECK(default_context().executor.concurrency() >= 1);
  CHECK(&default_context() == &default_context());
  CHECK(context{}.executor.concurrency() == 1);
}

}  // namespace default_context_test
