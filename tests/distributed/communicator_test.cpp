// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace communicator_test {

namespace zp = zarrpoint;

namespace {

zp::message bytes_of(std::string_view text) {
  const zp::bytes_view bytes = zp::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

/// One that has nothing but an exchange.
class plain {
 public:
  explicit plain(zp::thread_communicator& inner, bool cuts = false) : inner_(inner), cuts_(cuts) {}
  int rank() const { return inner_.rank(); }
  int size() const { return inner_.size(); }
  zp::result<std::vector<zp::message>> exchange(std::vector<zp::message> to_each) const {
    auto all = inner_.exchange(std::move(to_each));
    if (all && cuts_) all->back().clear();
    return all;
  }

 private:
  zp::thread_communicator inner_;
  bool cuts_;
};
static_assert(zp::communicator<plain> && !zp::native_communicator<plain>);

}  // namespace

TEST_CASE("communicator: a group of one needs no other") {
  const zp::any_communicator alone;
  CHECK(alone.rank() == 0);
  CHECK(alone.size() == 1);
  zp::message mine = bytes_of("mine");
  const std::byte* const where = mine.data();
  std::vector<zp::message> to_each;
  to_each.push_back(std::move(mine));
  std::vector<zp::message> all = alone.exchange(std::move(to_each)).value();
  REQUIRE(all.size() == 1);
  CHECK(all[0].data() == where);  // moved, never copied
  all = alone.gather({zp::collective::gather}, std::move(all[0])).value();
  CHECK(all.at(0).data() == where);
  mine = alone.scatter({zp::collective::scatter}, std::move(all)).value();
  CHECK(mine.data() == where);
  mine = alone.broadcast({zp::collective::broadcast}, std::move(mine)).value();
  CHECK(mine.data() == where);
}

TEST_CASE("communicator: ranks and numbers of messages are checked") {
  const zp::any_communicator alone;
  const auto refused = [](const auto& outcome, std::string_view text) {
    REQUIRE_FALSE(outcome);
    CHECK(to_string(outcome.failure()) == text);
  };
  refused(alone.exchange({}),
          "invalid_argument: exchange: 0 messages were given for 1 ranks; give one for each");
  refused(alone.scatter({zp::collective::scatter}, {}),
          "invalid_argument: scatter: 0 messages were given for 1 ranks; give one for each");
  refused(alone.gather({zp::collective::gather, 1}, {}),
          "invalid_argument: gather: there is no rank 1; the number of ranks is 1");
  refused(alone.broadcast({zp::collective::broadcast, -1}, {}),
          "invalid_argument: broadcast: there is no rank -1; the number of ranks is 1");
  refused(alone.scatter({zp::collective::scatter, 7}, std::vector<zp::message>(1)),
          "invalid_argument: scatter: there is no rank 7; the number of ranks is 1");
}

TEST_CASE("communicator: an exchange is enough for all collectives") {
  for (const int size : {1, 2, 5}) {
    const auto outcomes = zp::thread_world::run(size, [](zp::thread_communicator& self) {
      const zp::any_communicator group = plain(self);
      const int rank = group.rank(), last = group.size() - 1;
      const std::string mine = "from " + std::to_string(rank);
      std::vector<zp::message> all = zp::gather(group, bytes_of(mine), last).value();
      if (rank != last && !all.empty()) return false;
      for (std::size_t r = 0; r < all.size(); ++r) {
        if (all[r] != bytes_of("from " + std::to_string(r))) return false;
      }
      if (rank == last && all.size() != static_cast<std::size_t>(group.size())) return false;
      if (zp::scatter(group, std::move(all), last).value() != bytes_of(mine)) return false;
      if (zp::broadcast(group, bytes_of(mine), last).value() !=
          bytes_of("from " + std::to_string(last)))
        return false;
      all = zp::all_gather(group, bytes_of(mine)).value();
      all = group.exchange(std::move(all)).value();
      for (const zp::message& from : all)
        if (from != bytes_of(mine)) return false;
      return zp::barrier(group).has_value() && zp::agree(group, zp::result<void>()).has_value();
    });
    for (const auto& outcome : outcomes) CHECK(outcome.value());
  }
}

TEST_CASE("communicator: of an exchange too, all ranks learn that they are in different steps") {
  const auto outcomes = zp::thread_world::run(4, [](zp::thread_communicator& self) {
    const zp::any_communicator group = plain(self);
    return group.rank() == 3 ? zp::broadcast(group, {}, 3).transform([](auto&&) {})
                             : zp::gather(group, {}).transform([](auto&&) {});
  });
  for (const auto& outcome : outcomes) {
    REQUIRE_FALSE(outcome);
    CHECK(to_string(outcome.failure()) ==
          "invalid_argument: Unmatched collectives: rank 3 is in broadcast from rank 3, rank 0 in "
          "gather to rank 0");
  }
}

TEST_CASE("communicator: an exchange that loses bytes is found out") {
  const auto outcomes = zp::thread_world::run(
      2, [](zp::thread_communicator& self) { return zp::barrier(plain(self, true)); });
  for (const auto& outcome : outcomes) {
    REQUIRE_FALSE(outcome);
    CHECK(to_string(outcome.failure()) == "corrupt: a message of rank 1 is cut off");
  }
}

TEST_CASE("communicator: each collective has a name of its own") {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(zp::collective::agree); ++i)
    names.emplace_back(to_string(static_cast<zp::collective>(i)));
  CHECK(names == std::vector<std::string>{"exchange", "gather", "scatter", "broadcast", "barrier",
                                          "all_gather", "agree"});
  CHECK(to_string(static_cast<zp::collective>(7)) == "unknown");
  CHECK(to_string(zp::collective_step{zp::collective::scatter, 2}) == "scatter from rank 2");
  CHECK(to_string(zp::collective_step{zp::collective::barrier}) == "barrier");
}

}  // namespace communicator_test
