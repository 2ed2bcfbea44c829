// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace collectives_test {

namespace zp = zarrpoint;

namespace {

/// What rank `from` sends rank `to` in round `round`: of a size that both know, often none.
zp::message sent(int from, int to, int round) {
  std::minstd_rand random(static_cast<unsigned>(1 + from + 100 * to + 10000 * round));
  const std::size_t sizes[] = {0, 1, random() % 64, random() % 5000};
  zp::message bytes(sizes[random() % 4]);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::vector<zp::message> sent_to_each(int from, int size, int round) {
  std::vector<zp::message> all;
  for (int to = 0; to < size; ++to) all.push_back(sent(from, to, round));
  return all;
}

zp::result<void> check_round(const zp::any_communicator& group, int round) {
  const int rank = group.rank(), size = group.size(), root = (round * 7) % size;
  const auto check = [&](bool good, const char* what) -> zp::result<void> {
    if (good) return {};
    return zp::error{zp::errc::corrupt, what};
  };
  ZARRPOINT_TRY(exchanged, group.exchange(sent_to_each(rank, size, round)));
  for (int from = 0; from < size; ++from)
    ZARRPOINT_CHECK(check(exchanged.at(static_cast<std::size_t>(from)) == sent(from, rank, round),
                          "an exchange"));
  ZARRPOINT_TRY(gathered, zp::gather(group, sent(rank, root, round), root));
  std::vector<zp::message> wanted;
  for (int from = 0; from < size; ++from) wanted.push_back(sent(from, root, round));
  ZARRPOINT_CHECK(
      check(gathered == (rank == root ? wanted : std::vector<zp::message>()), "a gather"));
  ZARRPOINT_TRY(all, zp::all_gather(group, sent(rank, root, round)));
  ZARRPOINT_CHECK(check(all == wanted, "an all_gather"));
  std::vector<zp::message> parts;
  if (rank == root) parts = sent_to_each(root, size, round);
  ZARRPOINT_TRY(scattered, zp::scatter(group, std::move(parts), root));
  ZARRPOINT_CHECK(check(scattered == sent(root, rank, round), "a scatter"));
  ZARRPOINT_TRY(told, zp::broadcast(group, sent(rank, 0, round), root));
  ZARRPOINT_CHECK(check(told == sent(root, 0, round), "a broadcast"));
  ZARRPOINT_TRY(same, zp::detail::broadcast_result(group, sent(rank, 0, round), root));
  ZARRPOINT_CHECK(check(same == told, "a broadcast result"));
  ZARRPOINT_TRY(agreed, zp::agree(group, zp::result<int>(rank)));
  ZARRPOINT_CHECK(check(agreed == rank, "an agreement"));
  return zp::barrier(group);
}

/// What all of `size` ranks say of the outcomes that `of` has for each.
template <class F>
std::string agreed(int size, F&& of) {
  const auto outcomes = zp::thread_world::run(size, [&](zp::thread_communicator& self) {
    const zp::result<void> joint = zp::agree(self, of(self.rank()));
    const zp::result<void> after = zp::barrier(self);  // an error that was agreed on ends nothing
    if (!after) return to_string(after.failure());
    return joint ? std::string("done") : to_string(joint.failure());
  });
  for (const auto& outcome : outcomes) CHECK(outcome.value() == outcomes.front().value());
  return outcomes.front().value();
}

}  // namespace

TEST_CASE("collectives: 1 to 64 ranks, messages of any size") {
  for (const int size : {1, 2, 3, 4, 5, 7, 8, 16, 33, 64}) {
    CAPTURE(size);
    const auto outcomes =
        zp::thread_world::run(size, [](zp::thread_communicator& self) -> zp::result<void> {
          for (int round = 0; round < 4; ++round) ZARRPOINT_CHECK(check_round(self, round));
          return {};
        });
    REQUIRE(outcomes.size() == static_cast<std::size_t>(size));
    for (const auto& outcome : outcomes) {
      INFO((outcome ? std::string() : to_string(outcome.failure())));
      CHECK(outcome.has_value());
    }
  }
}

TEST_CASE("collectives: what a rank sends itself is moved") {
  const auto outcomes = zp::thread_world::run(3, [](zp::thread_communicator& self) {
    const auto mine = static_cast<std::size_t>(self.rank());
    std::vector<zp::message> to_each(3, zp::message(1000));
    const std::byte* where = to_each[mine].data();
    auto all = self.exchange(std::move(to_each)).value();
    bool moved = all[mine].data() == where;
    where = all[mine].data();
    auto gathered = zp::gather(self, std::move(all[mine]), 1).value();
    if (self.rank() == 1) moved = moved && gathered[1].data() == where;
    const auto part = zp::scatter(self, std::move(gathered), 1).value();
    return self.rank() == 1 ? moved && part.data() == where : moved;
  });
  for (const auto& outcome : outcomes) CHECK(outcome.value());
}

TEST_CASE("collectives: ranks agree on every error, by the name of the rank") {
  const auto fails = [](zp::errc code, std::string text) {
    return zp::result<void>(zp::error{code, std::move(text)});
  };
  const zp::result<void> well;
  CHECK(agreed(5, [&](int) { return well; }) == "done");
  CHECK(agreed(5, [&](int rank) { return rank == 3 ? fails(zp::errc::io, "disk full") : well; }) ==
        "io: rank 3: disk full");
  CHECK(agreed(8, [&](int rank) {
          return rank % 4 != 0 ? fails(zp::errc::io, "disk full") : well;
        }) == "io: ranks 1-3, 5-7: disk full");
  // Several errors: each is listed, and the code is that of the first cause.
  CHECK(agreed(6,
               [&](int rank) {
                 if (rank == 1) return fails(zp::errc::cancelled, "stop was requested");
                 if (rank == 2 || rank == 3)
                   return fails(zp::errc::corrupt, "chunk c/0: it is missing");
                 return rank == 5 ? fails(zp::errc::not_found, "no such leaf") : well;
               }) ==
        "corrupt: rank 1: cancelled: stop was requested; ranks 2, 3: chunk c/0: it is missing; "
        "rank 5: not_found: no such leaf");
  CHECK(agreed(2, [&](int) { return fails(zp::errc::unavailable, "gone"); }) ==
        "unavailable: ranks 0, 1: gone");
}

TEST_CASE("collectives: a group of one has its own error, unchanged") {
  const zp::error mine{zp::errc::io, "disk full"};
  const zp::any_communicator alone;
  CHECK(zp::agree(alone, mine).failure().message == "disk full");
  CHECK(zp::agree(alone, zp::result<int>(mine)).failure().message == "disk full");
  CHECK(zp::agree(alone, zp::result<int>(7)).value() == 7);
  CHECK(to_string(zp::detail::broadcast_result(alone, mine).failure()) == "io: disk full");
}

TEST_CASE("collectives: joint errors are bounded, and characters stay whole") {
  const std::string said = agreed(64, [](int rank) {
    std::string text(5000, 'x');
    text.replace(0, 2, std::to_string(10 + rank));
    for (std::size_t i = 4081; i < 4130; i += 2) text.replace(i, 2, "\u00e9");
    return zp::result<void>(zp::error{zp::errc::io, std::move(text)});
  });
  CHECK(said.size() < 16384 + 200);
  CHECK(said.substr(0, 12) == "io: rank 0: ");
  CHECK(said.find("...; rank 1: 11") != std::string::npos);
  CHECK(said.find("; and others on ranks 3-63") != std::string::npos);
  CHECK(zp::is_utf8(said));
}

TEST_CASE("collectives: the error of the one that has the message reaches all") {
  const auto outcomes = zp::thread_world::run(4, [](zp::thread_communicator& self) {
    zp::result<zp::message> mine;
    if (self.rank() == 2) mine = zp::error{zp::errc::not_found, "no metadata"};
    return zp::detail::broadcast_result(self, std::move(mine), 2);
  });
  for (const auto& outcome : outcomes)
    CHECK(to_string(outcome.failure()) == "not_found: rank 2: no metadata");
}

TEST_CASE("collectives: packed messages that lie are refused") {
  const std::vector<zp::message> parts{zp::message(3), {}, zp::message(5)};
  const zp::message packed = zp::detail::pack(parts);
  CHECK(zp::detail::unpack(packed, 3).value() == parts);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto cut = zp::detail::unpack(zp::bytes_view(packed).first(size), 3);
    CHECK_FALSE(cut);
  }
  CHECK_FALSE(zp::detail::unpack(packed, 4));
  CHECK_FALSE(zp::detail::unpack(packed, 2));
  for (std::size_t i = 0; i < 24; ++i) {
    zp::message wrong = packed;
    wrong[i] ^= std::byte{0x80};
    CHECK_FALSE(zp::detail::unpack(wrong, 3));
  }
  CHECK(zp::detail::unpack({}, 0).value().empty());
  const zp::message no_code(1, std::byte{0xff});
  CHECK(zp::detail::unpack_status(no_code).failure().code == zp::errc::corrupt);
}

TEST_CASE("collectives: lists of ranks") {
  CHECK(zp::detail::rank_list({4}) == "rank 4");
  CHECK(zp::detail::rank_list({1, 2}) == "ranks 1, 2");
  CHECK(zp::detail::rank_list({0, 1, 2, 5, 7, 8, 9, 10}) == "ranks 0-2, 5, 7-10");
}

}  // namespace collectives_test
