// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/stop.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <utility>

namespace stop_test {

namespace zp = zarrpoint;

TEST_CASE("stop: a default token never stops") {
  const zp::stop_token token;
  CHECK(!token.stop_requested());
  CHECK(!token.stop_possible());
}

TEST_CASE("stop: a request is seen by every token, for good") {
  zp::stop_source source;
  const zp::stop_token before = source.token();
  const zp::stop_token copy = before;  // NOLINT(performance-unnecessary-copy-initialization)
  const zp::stop_source same = source;
  CHECK(before.stop_possible());
  CHECK(!before.stop_requested());
  CHECK(!source.stop_requested());
  same.request_stop();
  CHECK(before.stop_requested());
  CHECK(copy.stop_requested());
  CHECK(source.stop_requested());
  CHECK(source.token().stop_requested());
  source.request_stop();
  CHECK(before.stop_requested());
  CHECK(!zp::stop_source().token().stop_requested());
}

TEST_CASE("stop: a token outlives its source") {
  zp::stop_token token;
  {
    const zp::stop_source source;
    token = source.token();
    source.request_stop();
  }
  CHECK(token.stop_requested());
}

TEST_CASE("stop: what was written before the request is visible after it is seen") {
  for (int round = 0; round < 200; ++round) {
    const zp::stop_source source;
    int payload = 0;
    int seen = -1;
    std::thread reader([token = source.token(), &payload, &seen] {
      while (!token.stop_requested()) std::this_thread::yield();
      seen = payload;
    });
    payload = round;
    source.request_stop();
    reader.join();
    CHECK(seen == round);
  }
}

}  // namespace stop_test
