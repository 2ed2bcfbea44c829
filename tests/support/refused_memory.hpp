// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What codecs say when a budget refuses the memory of their library.

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// Checks one error of many that a budget of `limit` bytes gave.
inline void check_refusal(const zp::error& failure, std::size_t limit) {
  CAPTURE(failure.message);
  CHECK(failure.code == zp::errc::resource_limit);
  REQUIRE(failure.message.starts_with("cannot allocate "));
  CHECK(std::stoul(failure.message.substr(16)) > 0);
  CHECK(failure.message.ends_with(" of the " + std::to_string(limit) +
                                  " bytes of the budget are in use"));
}

/// Encodes and decodes within budgets that grow until they are enough: each refusal before says how
/// many bytes were asked for, and of which budget.
template <class Codec>
void check_refusals(const Codec& codec) {
  std::vector<std::byte> data(100'000);
  unsigned state = 1;
  for (std::byte& one : data)
    one = static_cast<std::byte>((state = state * 1'103'515'245 + 12'345) >> 28);
  std::vector<std::byte> stored(static_cast<std::size_t>(codec.encoded_bound(data.size())));
  std::vector<std::byte> back(data.size());
  for (const bool encode : {true, false}) {
    std::size_t refused = 0;
    for (std::size_t limit = 1000;; limit += limit / 8, ++refused) {
      REQUIRE(limit < (std::size_t{1} << 30));
      zp::limited_resource budget(limit);
      zp::codec_workspace scratch(budget);
      const auto done =
          encode ? codec.encode(data, stored, scratch) : codec.decode(stored, back, scratch);
      if (!done) {
        check_refusal(done.failure(), limit);
        continue;
      }
      if (encode) stored.resize(*done);
      break;
    }
    CHECK(refused > 0);
  }
  CHECK(back == data);
}

}  // namespace zarrpoint_test
