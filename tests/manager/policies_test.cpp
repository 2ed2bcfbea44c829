// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/manager.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace policies_test {

using namespace zarrpoint;
using namespace std::chrono_literals;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

/// Steps that managers wrote, one a minute, with what is given of each.
std::vector<step_record> steps_of(std::vector<std::int64_t> numbers,
                                  std::vector<double> losses = {}) {
  std::vector<step_record> out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    step_record one{.step = numbers[i], .name = std::to_string(numbers[i])};
    one.saved_at = wall_time(1min * static_cast<int>(i));
    if (i < losses.size()) one.metrics = {{"loss", losses[i]}};
    one.bytes = 10;
    one.is_managed = true;
    out.push_back(std::move(one));
  }
  return out;
}

/// The steps that a policy keeps.
std::vector<std::int64_t> kept(const keep_policy& by, const std::vector<step_record>& steps,
                               wall_time now = wall_time(1h)) {
  const std::vector<bool> answer = by({steps, now});
  REQUIRE(answer.size() == steps.size());
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (answer[i]) out.push_back(steps[i].step);
  return out;
}

using list = std::vector<std::int64_t>;

TEST_CASE("keep: each policy alone") {
  const auto steps = steps_of({0, 5, 10, 900, 9000, 10000}, {3, 1, 2, nan, 1, 5});
  CHECK(kept(keep_policy::all(), steps).size() == 6);
  CHECK(kept(keep_policy::newest(0), steps).empty());
  CHECK(kept(keep_policy::newest(2), steps) == list{9000, 10000});  // by number, not as text
  CHECK(kept(keep_policy::newest(99), steps).size() == 6);
  CHECK(kept(keep_policy::every_steps(1000), steps) == list{0, 9000, 10000});
  CHECK(kept(keep_policy::every_steps(0), steps).empty());
  CHECK(kept(keep_policy::every_steps(-5), steps).empty());
  CHECK(kept(keep_policy::steps({10, 11}), steps) == list{10});
  CHECK(kept(keep_policy::every(2min), steps) == list{0, 10, 9000});
  CHECK(kept(keep_policy::within(2min), steps, wall_time(6min)) == list{9000, 10000});
  CHECK(kept(keep_policy::within_bytes(25), steps) == list{9000, 10000});
  CHECK(kept(keep_policy::within_bytes(9), steps).empty());
}

TEST_CASE("keep: the best are best by value, and ties, NaN and missing metrics are told") {
  const auto steps = steps_of({1, 2, 3, 4, 5}, {3, 1, nan, 1});                // 5 has no metric
  CHECK(kept(keep_policy::best(1, "loss", better::lower), steps) == list{4});  // the newer of two
  CHECK(kept(keep_policy::best(2, "loss", better::lower), steps) == list{2, 4});
  CHECK(kept(keep_policy::best(1, "loss", better::higher), steps) == list{1});
  CHECK(kept(keep_policy::best(9, "loss", better::lower), steps) == list{1, 2, 4});
  // A name that no step knows removes nothing.
  CHECK(kept(keep_policy::best(1, "los", better::lower), steps).size() == steps.size());
  CHECK(best_of(steps, "loss", better::lower)->step == 4);
  CHECK(best_of(steps, "accuracy", better::lower) == nullptr);
  CHECK(best_of({}, "loss", better::lower) == nullptr);
  const auto wide = steps_of({1, 2, 3}, {inf, -inf, 0});
  CHECK(best_of(wide, "loss", better::lower)->step == 2);
  CHECK(best_of(wide, "loss", better::higher)->step == 1);
}

TEST_CASE("keep: combined, and one's own") {
  const auto steps = steps_of({1, 2, 3, 4}, {1, 2, 3, 4});
  const auto both = keep_policy::newest(1) | keep_policy::best(1, "loss", better::lower);
  CHECK(kept(both, steps) == list{1, 4});
  CHECK(both.name() == "the newest 1, or the best 1 by \"loss\" (lower is better)");
  // The bytes are those of what the first one keeps.
  CHECK(kept(both & keep_policy::within_bytes(20), steps) == list{1, 4});
  CHECK(kept(both & keep_policy::within_bytes(10), steps) == list{4});
  const keep_policy own = [](const keep_question& of) {
    return std::vector<bool>(of.steps.size(), false);
  };
  CHECK(kept(own, steps).empty());
  const keep_policy wrong = [](const keep_question&) { return std::vector<bool>(1); };
  CHECK(kept(wrong, steps).size() == 4);  // no answer about them: they stay
}

TEST_CASE(
    "removals: never the newest, the last one, a pinned one, one of others or a damaged one") {
  auto steps = steps_of({1, 2, 3, 4, 5, 6});
  const auto gone = [&](std::optional<std::int64_t> last = {}) {
    list out;
    for (const auto& one : removals(steps, keep_policy::newest(0), {}, last))
      out.push_back(one.step);
    return out;
  };
  CHECK(gone() == list{1, 2, 3, 4, 5});
  CHECK(gone(3) == list{1, 2, 4, 5});
  steps[0].is_pinned = true;
  steps[1].is_managed = false;
  steps[2].fault = "damaged";
  CHECK(gone() == list{4, 5});
  steps[5].fault = "damaged";  // the newest whole one is another then
  CHECK(gone() == list{4});
  CHECK(removals(steps, keep_policy::newest(0), {})[0].why == "not kept by: the newest 0");
  CHECK(removals({}, keep_policy::newest(0), {}).empty());
}

TEST_CASE("removals: what a delta stands on stays with it, and says why") {
  auto steps = steps_of({1, 2, 3, 4, 5, 6});
  steps[1].base = steps[2].base = 1;
  steps[4].base = 4;
  const auto told = [&](const keep_policy& keep) {
    std::string out;
    for (const auto& one : removals(steps, keep, {}))
      out += std::to_string(one.step) + (one.stays ? ": " + one.why + "; " : " goes; ");
    return out;
  };
  CHECK(told(keep_policy::newest(1)) == "1 goes; 2 goes; 3 goes; 4 goes; 5 goes; ");
  CHECK(told(keep_policy::newest(2)) ==
        "1 goes; 2 goes; 3 goes; 4: step 5 stands on it as a delta; ");
  CHECK(told(keep_policy::newest(5)) == "1: 2 steps stand on it as deltas, the newest is 3; ");
  // Deltas on deltas, which no manager writes.
  steps[2].base = 2;
  CHECK(told(keep_policy::steps({3})) ==
        "1: step 2 stands on it as a delta; 2: step 3 stands on it as a delta; 4 goes; 5 goes; ");
  steps[4].base = 5;
  CHECK(told(keep_policy::newest(1)) == "1 goes; 2 goes; 3 goes; 4 goes; 5 goes; ");
  // A damaged delta needs nothing; one that a disk does not give may need any.
  steps[2].fault = "damaged";
  CHECK(told(keep_policy::newest(1)) == "1 goes; 2 goes; 4 goes; 5 goes; ");
  steps[2].is_unread = true;
  CHECK(told(keep_policy::newest(1)) ==
        "1: step 2 stands on it as a delta; 2: step 3 stands on it as a delta; 4 goes; 5 goes; ");
  steps[2].base.reset();
  CHECK(told(keep_policy::newest(1)) ==
        "1: step 3 cannot be looked at, and may stand on it; 2 goes; 4 goes; 5 goes; ");
}

TEST_CASE(
    "removals: for all sets of six steps and all policies, what stays is what was asked for") {
  std::size_t cases = 0;
  for (unsigned set = 0; set < 64; ++set) {
    for (unsigned losses = 0; losses < 27; ++losses) {  // the first three: 0, 1 or NaN
      list numbers;
      std::vector<double> values;
      unsigned left = losses;
      for (unsigned i = 0; i < 6; ++i) {
        if ((set >> i & 1) == 0) continue;
        numbers.push_back(static_cast<std::int64_t>(i) * 2 + 1);
        values.push_back(left % 3 == 2 ? nan : left % 3);
        left /= 3;
      }
      const auto steps = steps_of(numbers, values);
      for (std::size_t n = 0; n < 4; ++n) {
        for (std::size_t m = 0; m < 3; ++m) {
          ++cases;
          const auto by = keep_policy::newest(n) | keep_policy::best(m, "loss", better::lower);
          std::vector<step_record> rest = steps;
          for (const auto& one : removals(steps, by, {}))
            std::erase_if(rest, [&](const auto& each) { return each.step == one.step; });
          // Something stays; the newest n stay; the best m stay; and no more than these, or all.
          REQUIRE(rest.empty() == steps.empty());
          REQUIRE(rest.size() >= std::min(std::max<std::size_t>(n, 1), steps.size()));
          const bool keeps_all = m > 0 && best_of(steps, "loss", better::lower) == nullptr;
          REQUIRE((keeps_all ? rest.size() == steps.size()
                             : rest.size() <= std::max<std::size_t>(n, 1) + m));
          if (!steps.empty()) REQUIRE(rest.back().step == steps.back().step);
          if (m > 0) {
            const auto* best = best_of(steps, "loss", better::lower);
            const auto* now = best_of(rest, "loss", better::lower);
            REQUIRE((best == nullptr) == (now == nullptr));
            if (best != nullptr) REQUIRE(best->step == now->step);
          }
          REQUIRE(removals(rest, by, {}).empty());  // asked again, nothing more goes
        }
      }
    }
  }
  CHECK(cases == 64 * 27 * 12);
}

TEST_CASE("when: each policy, alone and combined") {
  save_moment at{.step = 100, .now = wall_time(1h), .opened = wall_time(50min)};
  const auto says = [&](const save_policy& one) { return one(at); };
  CHECK(says(save_policy::always()));
  CHECK_FALSE(says(save_policy::never()));
  CHECK(says(save_policy::first()));
  CHECK(says(save_policy::every_steps(50)));
  CHECK_FALSE(says(save_policy::every_steps(0)));
  CHECK(says(save_policy::every_steps(99)));  // 99 was passed, and nothing is saved
  CHECK_FALSE(says(save_policy::every_steps(101)));
  CHECK(says(save_policy::at_steps({7, 100})));
  CHECK_FALSE(says(save_policy::at_steps({7})));
  CHECK(says(save_policy::every(10min)));
  CHECK_FALSE(says(save_policy::every(11min)));
  at.last_step = 96;
  at.last_time = wall_time(59min);
  CHECK_FALSE(says(save_policy::first()));
  CHECK(says(save_policy::every_steps(99)));
  CHECK_FALSE(says(save_policy::every_steps(98 * 2)));
  CHECK_FALSE(says(save_policy::every(2min)));
  CHECK(says(save_policy::every(1min)));
  at.now = wall_time(30min);  // a clock that was set back does not stop the saves
  CHECK(says(save_policy::every(2min)));
  at.last_step = 99;
  CHECK_FALSE(says(save_policy::every_steps(99)));
  const save_policy own = [](const save_moment& m) { return m.step > 99; };
  CHECK(says(own & save_policy::every_steps(10)));
  CHECK_FALSE(says(own & save_policy::never()));
  CHECK(says(own | save_policy::never()));
}

TEST_CASE("steps: names are numbers, never text") {
  CHECK(detail::step_name(10, {}) == "step_00000010");
  CHECK(detail::step_name(1234567890, {}) == "step_1234567890");
  CHECK(detail::step_name(10, {"", 0}) == "10");
  for (const char* name : {"10", "010", "step_10", "step-10", "step_0000010"})
    CHECK(detail::parse_step_name(name) == 10);
  CHECK(detail::parse_step_name("9223372036854775807") == INT64_MAX);
  for (const char* name :
       {"", "step_", "step", "step_-1", "-1", "+1", "1.0", "10a", "a10", "step_1 ", " 1", "0x10",
        "9223372036854775808", "99999999999999999999999", "step__1", "steps_1", ".step_1.tmp.0",
        "step_10.zip", "damaged_step_10.ab"})
    CHECK_MESSAGE(!detail::parse_step_name(name), name);
}

TEST_CASE("mark: read as it was written, and hostile ones are refused") {
  detail::step_mark mark{.step = 7, .saved_at = wall_time(1h)};
  mark.metrics = {{"a", nan}, {"b", inf}, {"c", -inf}, {"d", 0.1}};
  const json plain = to_json(mark);
  CHECK(detail::parse_step_mark(plain).value().metrics[3].second == 0.1);
  CHECK(std::isnan(detail::parse_step_mark(plain).value().metrics[0].second));
  CHECK(detail::parse_step_mark(plain).value().metrics[2].second == -inf);
  mark.items = {"model"};
  mark.files = {{"model/zarr.json", 5}};
  const json whole = to_json(mark);
  const auto back = detail::parse_step_mark(whole).value();
  CHECK(back.step == 7);
  CHECK(back.saved_at == mark.saved_at);
  CHECK(back.files == mark.files);
  const auto with = [&](const char* key, json value) {
    json out = whole;
    out.set(key, std::move(value));
    return detail::parse_step_mark(out);
  };
  CHECK(with("version", 2).failure().code == errc::unsupported);
  for (const char* key : {"version", "step", "saved_at_ms", "metrics", "files", "crc32c"}) {
    CAPTURE(key);
    for (const json& value : {json(), json("x"), json(-1), json(0.5), json(json::array{json(1)}),
                              json(UINT64_MAX), json(1e300)})
      CHECK_FALSE(with(key, value));
  }
  CHECK_FALSE(with("items", 1));
  CHECK_FALSE(with("items", json(json::array{json(1)})));
  for (const char* name : {"", "..", ".", "../../x", "a/b", "/etc", "zarrpoint_step.json"}) {
    CAPTURE(name);
    mark.items = {name};
    CHECK_FALSE(detail::parse_step_mark(to_json(mark)));
  }
  CHECK_FALSE(with("step", 8));  // the checksum tells
  for (const json& other : {json(), json(1), json("x"), json(json::array{})})
    CHECK_FALSE(detail::parse_step_mark(other));
}

}  // namespace policies_test
