// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/write/source_reader.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace read_ahead_test { namespace {

using namespace zarrpoint;
using detail::item_run;
using detail::read_ahead;

/// Runs of three items, and room for so many parts at a time.
class counted_parts final : public read_ahead::parts {
 public:
  explicit counted_parts(int room) : room_(room) {}

  item_run run_of(std::size_t i) const override { return {i - i % 3, 3}; }
  result<std::unique_ptr<source_part>> begin(const item_run& run, bool wait) override {
    if (wait && failing == run.first) return error{errc::device, "no part"};
    while (room_.fetch_sub(1) <= 0) {
      room_.fetch_add(1);
      if (!wait) return std::unique_ptr<source_part>();
    }
    order.push_back(run.first);  // one at a time
    return std::unique_ptr<source_part>(std::make_unique<part>(*this));
  }

  std::vector<std::size_t> order;
  std::size_t failing = SIZE_MAX;
  std::atomic<int> live{0};

 private:
  class part final : public source_part {
   public:
    explicit part(counted_parts& owner) : owner_(owner) { ++owner_.live; }
    ~part() override {
      --owner_.live;
      ++owner_.room_;
    }
    result<host_view> wait() override { return host_view{}; }
    bytes_view memory() const override { return {}; }

   private:
    counted_parts& owner_;
  };
  std::atomic<int> room_;
};

TEST_CASE("read_ahead: each part is begun once, in order, and ends with its last item") {
  for (const int room : {1, 2, 5}) {
    for (unsigned workers = 1; workers <= 8; ++workers) {
      const thread_pool pool(workers);
      counted_parts parts(room);
      {
        read_ahead ahead(parts, 300, 2);
        REQUIRE(parallel_for(pool.executor(), 300, [&](std::size_t i) -> result<void> {
          const read_ahead::item item(ahead, i);
          if (i % 7 == 3) return {};  // given up
          ZARRPOINT_TRY(part, item.part());
          ZARRPOINT_CHECK(part->wait());
          CHECK(parts.live <= room);
          return {};
        }));
        CHECK(parts.live == 0);
      }
      std::vector<std::size_t> wanted;
      for (std::size_t i = 0; i < 300; i += 3) wanted.push_back(i);
      CHECK(parts.order == wanted);
    }
  }
}

TEST_CASE("read_ahead: parts are begun ahead as far as there is room, and dropped if not needed") {
  counted_parts parts(10);
  {
    read_ahead ahead(parts, 30, 2);
    std::optional<read_ahead::item> first(std::in_place, ahead, 0);
    auto held = first->part().value();
    CHECK(parts.order == std::vector<std::size_t>{0, 3, 6});
    REQUIRE(first->part());  // again
    CHECK(parts.order.size() == 3);
    first.reset();
    { const read_ahead::item second(ahead, 1); }
    { const read_ahead::item third(ahead, 2); }
    CHECK(parts.live == 3);  // the one that took it keeps it
    held.reset();
    CHECK(parts.live == 2);
  }
  CHECK(parts.live == 0);
}

TEST_CASE("read_ahead: a part that fails is an error of each of its items, and of no other") {
  counted_parts parts(1);
  parts.failing = 3;
  read_ahead ahead(parts, 9, 2);
  for (std::size_t i = 0; i < 9; ++i) {
    const read_ahead::item item(ahead, i);
    const auto part = item.part();
    CHECK(part.has_value() == (i / 3 != 1));
    if (!part) CHECK(part.failure().message == "no part");
  }
  CHECK(parts.live == 0);
}

TEST_CASE("read_ahead: parts whose items were all given up are not begun") {
  counted_parts parts(5);
  read_ahead ahead(parts, 9, 0);
  for (std::size_t i = 0; i < 6; ++i) const read_ahead::item given_up(ahead, i);
  const read_ahead::item item(ahead, 6);
  REQUIRE(item.part());
  CHECK(parts.order == std::vector<std::size_t>{6});
}

}}  // namespace read_ahead_test
