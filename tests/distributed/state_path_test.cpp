// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/state/state.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace state_path_test {

using namespace zarrpoint;

TEST_CASE("every key has a step of its own, and comes back from it") {
  for (const std::string key : {"", "a", "a/b", "~", "~1", "a~0/", "0", "/", "~~//"}) {
    std::string path = "up";
    detail::append_step(path, key);
    std::string_view rest = path;
    CHECK(detail::take_step(rest) == "up");
    CHECK(detail::key_of_step(detail::take_step(rest)) == key);
    CHECK(rest.empty());
  }
  CHECK_FALSE(detail::key_of_step("~2"));
  CHECK_FALSE(detail::key_of_step("a~"));
  CHECK_FALSE(detail::key_of_step(""));
}

TEST_CASE("a position is written in one way only") {
  CHECK(detail::position_of_step("0") == 0U);
  CHECK(detail::position_of_step("120") == 120U);
  for (const char* const step : {"", "00", "01", "-1", "+1", "1x", "~", "9999999999999999999999"})
    CHECK_FALSE(detail::position_of_step(step));
}

result<void> dive(detail::state_place& place, std::size_t levels) {
  if (levels == 0) return {};
  return place.within(std::size_t{1}, [&] { return dive(place, levels - 1); });
}

TEST_CASE("a walk knows where it is, and goes only so deep") {
  detail::state_place place;
  CHECK(place.failure(errc::corrupt, "no").message == "state: no");
  const result<void> there = place.within(std::string("a/b"), [&] {
    return place.within(std::size_t{3},
                        [&]() -> result<void> { return place.failure(errc::corrupt, "no"); });
  });
  CHECK(there.failure().message == "state \"a~1b/3\": no");
  CHECK(place.path().empty());
  const result<void> hostile = place.within(std::string(1000, '\n'), [&]() -> result<void> {
    return place.failure(errc::corrupt, "no");
  });
  CHECK(hostile.failure().message == "state \"" + std::string(200, '?') + "...\": no");
  CHECK(dive(place, detail::max_state_depth));
  CHECK(dive(place, detail::max_state_depth + 1).failure().code == errc::resource_limit);
}

}  // namespace state_path_test
