// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commit_outcome_test {

using namespace zarrpoint;
using detail::commit_outcome;

message text(std::string_view of) {
  const bytes_view bytes = as_bytes(of);
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("commit_outcome: all ranks have what the commit of rank 0 gave") {
  for (const int ranks : {1, 2, 5}) {
    const auto done = thread_world::run(ranks, [&](thread_communicator& self) -> result<message> {
      const any_communicator group(self);
      commit_outcome commit(group);
      commit.give_receipt();
      return commit.tell(self.rank() == 0 ? text("the report") : text("not looked at"));
    });
    for (const auto& one : done) CHECK(one.value() == text("the report"));
  }
}

TEST_CASE("commit_outcome: all ranks have the error of rank 0, which is known to be one") {
  for (const int ranks : {1, 3}) {
    const auto done = thread_world::run(ranks, [&](thread_communicator& self) -> result<message> {
      const any_communicator group(self);
      commit_outcome commit(group);
      commit.give_receipt();
      result<message> mine = message{};
      if (self.rank() == 0) mine = error{errc::io, "no space left"};
      auto heard = commit.tell(std::move(mine));
      if (heard) return heard;
      return commit.explain(std::move(heard).failure(), "x.zarr");
    });
    for (const auto& one : done) {
      REQUIRE_FALSE(one);
      CHECK(one.failure().code == errc::io);
      CHECK(one.failure().message == (ranks == 1 ? "no space left" : "rank 0: no space left"));
    }
  }
}

TEST_CASE("commit_outcome: what fails after the commit does not undo it") {
  for (const int ranks : {1, 3}) {
    const auto done = thread_world::run(ranks, [&](thread_communicator& self) -> result<message> {
      const any_communicator group(self);
      commit_outcome commit(group);
      commit.give_receipt();
      if (self.rank() != 0) return commit.tell(message{});
      commit.take_place();
      auto heard = commit.tell(error{errc::resource_limit, "no memory for the report"});
      // What comes after it is not said to be a failure either.
      CHECK(commit.explain({errc::io, "x"}, "x.zarr").code == errc::outcome_unknown);
      return heard;
    });
    for (const auto& one : done) CHECK(one.value() == message{});
  }
}

TEST_CASE("commit_outcome: who gave a receipt and heard nothing does not know") {
  const auto done = thread_world::run(3, [&](thread_communicator& self) -> result<message> {
    const any_communicator group(self);
    commit_outcome commit(group);
    // Before the receipt an error is what it is.
    CHECK(commit.explain({errc::io, "x"}, "x.zarr").code == errc::io);
    commit.give_receipt();
    // Rank 0 is gone before it tells: itself it did not commit.
    if (self.rank() == 0) return commit.explain({errc::io, "x"}, "x.zarr");
    auto heard = commit.tell(message{});
    if (heard) return heard;
    return commit.explain(std::move(heard).failure(), "x.zarr");
  });
  CHECK(done[0].failure().code == errc::io);
  for (const int rank : {1, 2}) {
    const auto& one = done[static_cast<std::size_t>(rank)];
    REQUIRE_FALSE(one);
    CHECK(one.failure().code == errc::outcome_unknown);
    CHECK(one.failure().message.find("rank 0 may have committed") != std::string::npos);
  }
}

/// Rank 0 tells what no `commit_outcome` does.
TEST_CASE("commit_outcome: what is cut off is refused") {
  for (const message& told :
       {message{}, text("\x01\x09"), text("\x02"), text("\x00"), text("xyz")}) {
    const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<message> {
      const any_communicator group(self);
      if (self.rank() == 0) return broadcast(group, told);
      commit_outcome commit(group);
      commit.give_receipt();
      auto heard = commit.tell(message{});
      if (heard) return heard;
      return commit.explain(std::move(heard).failure(), "x.zarr");
    });
    REQUIRE_FALSE(done[1]);
    CHECK(done[1].failure().code == errc::outcome_unknown);
  }
}

}  // namespace commit_outcome_test
