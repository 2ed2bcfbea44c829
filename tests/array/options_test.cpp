// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/options.hpp>

#include <doctest/doctest.h>

namespace options_test { namespace {

using namespace zarrpoint;

TEST_CASE("by default an array is what the specification says it is") {
  CHECK(read_options{}.missing == missing_chunks::fill);
  CHECK(read_options{}.expected == nullptr);
  CHECK(read_options{}.how == nullptr);
  CHECK(write_options{}.elide_fill);
  CHECK(write_options{}.collected == nullptr);
}

}}  // namespace options_test
