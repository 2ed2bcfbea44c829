// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/point_to_point.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace point_to_point_test {

using namespace zarrpoint;

namespace {

/// Ranks that take turns: a rank whose letter is not there yet is asked again. Counts messages.
struct desk {
  explicit desk(int ranks) : ranks(ranks), depth(static_cast<std::size_t>(ranks)) {}

  int ranks;
  std::map<std::pair<int, int>, std::deque<detail::letter>> letters;  // by sender and receiver
  std::vector<int> depth;  // the rounds that it took until the rank had its message
  int sent = 0;
  int most_sent_by_one = 0;
};

struct turn final : detail::transport {
  turn(desk* of, int rank) : shared(of), self(rank) {}

  desk* shared;
  int self;
  int sent = 0;

  int rank() const override { return self; }
  int size() const override { return shared->ranks; }
  result<detail::collective_call> begin(const collective_step& step) override {
    return detail::collective_call{step, 1};
  }
  result<void> send(int to, const detail::collective_call& call, message body) override {
    ++shared->sent;
    shared->most_sent_by_one = std::max(shared->most_sent_by_one, ++sent);
    auto& later = shared->depth[static_cast<std::size_t>(to)];
    later = std::max(later, shared->depth[static_cast<std::size_t>(self)] + sent);
    shared->letters[{self, to}].push_back({call, std::move(body)});
    return {};
  }
  result<void> send_shared(int to, const detail::collective_call& call,
                           const std::shared_ptr<const message>& body) override {
    return send(to, call, *body);
  }
  result<detail::letter> receive(int from, const detail::collective_call&) override {
    auto& box = shared->letters[{from, self}];
    if (box.empty()) return error{errc::unavailable, "not yet"};
    detail::letter got = std::move(box.front());
    box.pop_front();
    return got;
  }
  result<void> end() override { return {}; }
  error fail(error failure) override { return failure; }
};

detail::transport_communicator at(desk& shared, int rank) {
  return detail::transport_communicator(std::make_shared<turn>(&shared, rank));
}

}  // namespace

TEST_CASE("point_to_point: a broadcast takes P - 1 messages and log2(P) rounds, from any root") {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (const int root : {0, ranks / 2, ranks - 1}) {
      CAPTURE(ranks);
      CAPTURE(root);
      desk shared(ranks);
      const message wanted(3, std::byte{7});
      std::vector<bool> done(static_cast<std::size_t>(ranks));
      int left = ranks;
      for (int pass = 0; left != 0; ++pass) {
        REQUIRE(pass <= 8);
        for (int r = 0; r < ranks; ++r) {
          if (done[static_cast<std::size_t>(r)]) continue;
          const auto got = at(shared, r).broadcast({collective::broadcast, root},
                                                   r == root ? wanted : message());
          if (!got) continue;
          CHECK(*got == wanted);
          done[static_cast<std::size_t>(r)] = true;
          --left;
        }
      }
      const auto rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
      CHECK(shared.sent == ranks - 1);
      CHECK(shared.most_sent_by_one == rounds);
      CHECK(*std::max_element(shared.depth.begin(), shared.depth.end()) == rounds);
    }
  }
}

TEST_CASE("point_to_point: a letter of another call is an error that names both") {
  desk shared(2);
  const detail::collective_call other{{collective::scatter, 1}, 4};
  shared.letters[{1, 0}].push_back({other, {}});
  const auto got = at(shared, 0).gather({collective::gather}, {});
  CHECK(to_string(got.failure()) ==
        "invalid_argument: Unmatched collectives: rank 1 is in scatter from rank 1, "
        "rank 0 in gather to rank 0");
}

TEST_CASE("point_to_point: a rank that left out a step is found out by the number") {
  desk shared(2);
  shared.letters[{1, 0}].push_back({{{collective::gather}, 2}, {}});
  const auto got = at(shared, 0).gather({collective::gather}, {});
  CHECK(to_string(got.failure()) ==
        "invalid_argument: Unmatched collectives: rank 1 is in gather to rank 0 (number 2), rank 0 "
        "in gather to rank 0 (number 1)");
}

TEST_CASE("point_to_point: patience lets others run, so that what is waited for can happen") {
  std::atomic<int> turns{0};
  std::thread other([&] {
    for (detail::patience pause; turns < 100; pause.wait())
      if (turns % 2 == 1) ++turns;
  });
  for (detail::patience pause; turns < 100; pause.wait())
    if (turns % 2 == 0) ++turns;
  other.join();
  CHECK(turns == 100);
}

TEST_CASE("point_to_point: who is missing, and who is only waiting too") {
  using status = detail::rank_status;
  const detail::collective_call before{{collective::gather}, 4};
  const detail::collective_call now{{collective::barrier}, 5};
  const detail::collective_call next{{collective::barrier}, 6};
  const auto said = [&](std::vector<std::optional<status>> others,
                        std::chrono::milliseconds limit) {
    others.insert(others.begin(), status{true, now});
    return to_string(detail::missed(0, now, limit, others));
  };
  using std::chrono::milliseconds;
  // Rank 1 has not come; rank 2 waits in an earlier one; rank 3 is through; rank 4 does not answer.
  CHECK(said({status{false, before}, status{true, before}, status{false, now}, std::nullopt},
             milliseconds(1500)) ==
        "unavailable: ranks 1, 4 did not come to barrier within 1500 ms");
  CHECK(said({status{true, before}, status{true, now}}, milliseconds(2000)) ==
        "invalid_argument: Unmatched collectives: rank 1 is in gather to rank 0, rank 0 "
        "in barrier");
  CHECK(said({status{true, now}, status{false, next}}, milliseconds(600000)) ==
        "unavailable: all ranks are in barrier, but not all messages came within 600 s");
}

}  // namespace point_to_point_test
