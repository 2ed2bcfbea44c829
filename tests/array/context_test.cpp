// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/context.hpp>

#include <doctest/doctest.h>

namespace context_test { namespace {

using namespace zarrpoint;

TEST_CASE("a context works as it is: on the calling thread, with the default codecs") {
  const context how;
  CHECK(how.executor.concurrency() == 1);
  CHECK(how.codecs.find("zstd") != nullptr);
  CHECK(how.codecs.find("blosc") != nullptr);
  CHECK(how.codecs.find("gzip") == nullptr);
  CHECK_FALSE(how.stop.stop_requested());
  CHECK(&detail::resource_of(how) == &default_resource());
}

TEST_CASE("a context names its memory resource") {
  limited_resource budget(10);
  const context how{.resource = &budget};
  CHECK(&detail::resource_of(how) == &budget);
}

}}  // namespace context_test
