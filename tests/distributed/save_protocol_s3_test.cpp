// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The protocol of saves in a bucket of S3, for each format: ranks that are killed before each
// exchange and around each request, messages that are lost or cut off, a server that refuses,
// stops, saves in the background. What was saved before stays, and nothing lies about afterwards.

#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/s3.hpp>

#include "../support/fake_s3.hpp"
#include "../support/fork_world.hpp"
#include "../support/forked_s3.hpp"
#include "../support/hard_of_hearing.hpp"
#include "../support/random_rounds.hpp"
#include "../support/save_layouts.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace save_protocol_s3_test {

using namespace zarrpoint;
using namespace zarrpoint_test::save_layouts;
using zarrpoint_test::fork_communicator;
using zarrpoint_test::fork_world;
using zarrpoint_test::hard_of_hearing;
using zarrpoint_test::trouble;

namespace {

constexpr const char* path = "s3://bucket/run/model";
const std::vector<std::string> saved{"saved", "saved"};

void use(any_transport by, std::shared_ptr<const retry_clock> clock) {
  bucket_access::by = std::move(by);
  bucket_access::how = {.endpoint = "http://fake",
                        .region = "us-east-1",
                        .login = aws_login::given({.access_key = "A", .secret_key = "s"})};
  bucket_access::how.retry.clock = std::move(clock);
}

/// How many cases are one step on: of two formats each is tried, of the others, whose requests are
/// much the same, a fifth.
int stride(const layout& in) {
  const bool is_whole = in.name == "zarr" || in.name == "orbax";
  return (is_whole ? 1 : 5) * (zarrpoint_test::is_thinned ? 3 : 1);
}

/// The trees of the place, whole or not, and all else that lies there.
struct litter {
  std::vector<std::string> trees, others;

  explicit litter(const std::vector<std::string>& keys) {
    const std::string own = "run/model/.zarrpoint/";
    for (const std::string& key : keys) {
      const std::size_t slash = key.find('/', own.size());
      if (!key.starts_with(own) || slash == key.npos) {
        others.push_back(key);
      } else if (const std::string tree = key.substr(0, slash);
                 trees.empty() || trees.back() != tree) {
        trees.push_back(tree);
      }
    }
  }
};

/// A save of two ranks by threads; what each says.
template <class F>
std::vector<std::string> save_by_two(const layout& in, int step, F&& change) {
  const auto said =
      thread_world::run(2, [&](const thread_communicator& self) -> result<std::string> {
        part mine(self, step);
        context how = by_bucket();
        change(self.rank(), how, mine);
        return told(in.save(self, path, mine, how));
      });
  return {said[0].value(), said[1].value()};
}
std::vector<std::string> save_by_two(const layout& in, int step) {
  return save_by_two(in, step, [](int, context&, part&) {});
}

}  // namespace

// ThreadSanitizer lets a child of fork start no thread where its parent has some, as ours has by
// then; the ranks that wait for a server do. The cases below have ranks that are threads.
TEST_CASE("save protocol in S3: a rank dies before each exchange, and around each request" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  constexpr int ranks = 3;
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const int each = 2 * stride(in);
    const test::temp_directory folder;
    test::forked_s3 bucket(folder.path().string());
    enum class at { exchange, request, answer };
    // In processes of their own, since the threads that wait for servers do not survive a fork.
    const auto save_step = [&](int step, int dies, at where, int number) {
      return fork_world(ranks, [&](const fork_communicator& self) {
        const bool is_mine = self.rank() == dies;
        self.before_each([&](int exchange) {
          if (is_mine && where == at::exchange && exchange == number)
            zarrpoint_test::kill_this_process();
        });
        bucket.at_request = [&](int request, bool is_done) {
          if (is_mine && where == (is_done ? at::answer : at::request) && request == number)
            zarrpoint_test::kill_this_process();
        };
        use(bucket, std::make_shared<test::forked_s3_clock>(bucket));
        part mine(self, step);
        mine.pieces.resize(1);
        const std::string text = told(in.save(self, path, mine, by_bucket()));
        if (text != "saved") return text;
        return "saved " + std::to_string(self.exchanges()) + ' ' +
               std::to_string(bucket.requests());
      });
    };
    const auto step_there = [&] {
      return fork_world(1, [&](const fork_communicator&) {
        use(bucket, std::make_shared<test::forked_s3_clock>(bucket));
        return step_in(in, path);
      })[0];
    };
    const auto first = save_step(1, -1, at::exchange, 0);
    int stored = 1;
    for (const int dies : {0, 2}) {
      for (const at where : {at::exchange, at::request, at::answer}) {
        const std::string& counts = first[static_cast<std::size_t>(dies)];
        REQUIRE(counts.starts_with("saved "));
        const int steps = std::stoi(counts.substr(where == at::exchange ? 6 : counts.find(' ', 6)));
        REQUIRE(steps > (where == at::exchange ? 8 : 0));
        for (int number = dies % each; number < steps; number += each) {
          CAPTURE(dies);
          CAPTURE(static_cast<int>(where));
          CAPTURE(number);
          const int step = stored + 1;
          const auto said = save_step(step, dies, where, number);
          const std::string now = step_there();
          CHECK((now == std::to_string(stored) || now == std::to_string(step)));
          const bool is_new = now == std::to_string(step);
          CHECK((!is_new || dies == 0 || where == at::exchange));
          bool has_died = false;
          for (int rank = 0; rank < ranks; ++rank) {
            const std::string& text = said[static_cast<std::size_t>(rank)];
            CAPTURE(text);
            has_died |= text == "died of signal 9";
            if (rank == dies && text == "died of signal 9") continue;
            if (text.starts_with("saved ")) {  // the death came after all was done
              CHECK(is_new);
              continue;
            }
            CHECK((text.starts_with("unavailable: ") || text.starts_with("outcome_unknown: ")));
            CHECK((!is_new || text.starts_with("outcome_unknown: ")));
            CHECK(has(text, "rank " + std::to_string(dies) + " is gone"));
          }
          // Later saves have fewer requests: the place is not empty.
          CHECK((has_died || where != at::exchange));
          if (is_new) stored = step;
        }
      }
    }
    // The dead leave trees of their own at most, and no later save minds them. A day later they go.
    for (int rest = 0; rest < 3; ++rest) {
      bucket.pass(3 * 86400);
      for (const std::string& text : save_step(++stored, -1, at::exchange, 0))
        CHECK(text.starts_with("saved "));
      CHECK(step_there() == std::to_string(stored));
    }
    const litter after(bucket.keys());
    CHECK(after.trees.size() == 2);
    CHECK(after.others == std::vector<std::string>{"run/model/.zarrpoint/current"});
  }
}

TEST_CASE("save protocol in S3: no error hides a commit from a rank that hears half, or nothing") {
  for (const layout& in : layouts()) {
    const test::fake_s3 bucket;
    use(bucket, std::make_shared<test::fake_s3_clock>(bucket));
    int exchanges = 0, step = 1;
    const auto save_step = [&](trouble of, int who, int at) {
      const auto said =
          thread_world::run(2, [&](const thread_communicator& self) -> result<std::string> {
            const hard_of_hearing ranks{self, of, self.rank() == who ? at : -1};
            part mine(self, step);
            mine.pieces.resize(1);
            const std::string text = told(in.save(ranks, path, mine, by_bucket()));
            if (self.rank() == 0) exchanges = *ranks.count;
            return text;
          });
      return std::pair(said[0].value(), said[1].value());
    };
    REQUIRE(save_step(trouble::loses, 0, -1) ==
            std::pair<std::string, std::string>("saved", "saved"));
    const int all = exchanges;
    REQUIRE(all > 6);
    std::string stored = "1";
    for (const trouble of : {trouble::loses, trouble::cuts}) {
      for (const int who : {0, 1}) {
        for (int at = 0; at < all; at += stride(in)) {
          CAPTURE(in.name);
          CAPTURE(static_cast<int>(of));
          CAPTURE(who);
          CAPTURE(at);
          ++step;
          const auto [root, other] = save_step(of, who, at);
          CAPTURE(root);
          CAPTURE(other);
          const std::string now = step_in(in, path);
          if (now == stored) {
            CHECK(root != "saved");
            CHECK(other != "saved");
            CHECK_FALSE(root.starts_with("outcome_unknown: "));
            continue;
          }
          CHECK(now == std::to_string(step));
          stored = now;
          CHECK((root == "saved" || root.starts_with("outcome_unknown: save ")));
          CHECK((other == "saved" || other.starts_with("outcome_unknown: save ")));
        }
      }
    }
  }
}

TEST_CASE("save protocol in S3: a server that refuses any request leaves the old checkpoint") {
  for (const layout& in : layouts()) {
    for (const bool is_there : {true, false}) {
      CAPTURE(in.name);
      CAPTURE(is_there);
      const test::fake_s3 bucket;
      use(bucket, std::make_shared<test::fake_s3_clock>(bucket));
      if (is_there) REQUIRE(save_by_two(in, 1) == saved);
      const auto before = bucket.keys();
      int number = 0;
      for (;; ++number) {
        REQUIRE(number < 100);
        CAPTURE(number);
        std::atomic<int> left = number;
        bucket->instead = [&](const std::string& what) -> http_response {
          if ((!what.starts_with("PUT ") && !what.starts_with("POST ")) || --left >= 0) return {};
          return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
        };
        const auto said = save_by_two(in, 2);
        bucket->instead = {};
        if (said == saved) break;
        for (const std::string& text : said) {
          CAPTURE(text);
          CHECK(text.starts_with("io: save "));
          CHECK(has(text, "AccessDenied"));
        }
        CHECK(bucket.keys() == before);
        CHECK(bucket->uploads.empty());
        if (is_there) CHECK(step_in(in, path) == "1");
      }
      CHECK(number > 4);
      CHECK(step_in(in, path) == "2");
    }
  }
}

TEST_CASE("save protocol in S3: one that is asked to stop, or throws, leaves what was there") {
  for (const layout& in : layouts()) {
    for (const bool throws : {false, true}) {
#if !ZARRPOINT_EXCEPTIONS
      if (throws) continue;
#endif
      CAPTURE(in.name);
      CAPTURE(throws);
      const test::fake_s3 bucket;
      use(bucket, std::make_shared<test::fake_s3_clock>(bucket));
      REQUIRE(save_by_two(in, 1) == saved);
      const auto before = bucket.keys();
      stop_source source;
      const auto on_progress = [&](const progress_event&) {
#if ZARRPOINT_EXCEPTIONS
        if (throws) throw std::runtime_error("of the program");
#endif
        source.request_stop();
      };
      const auto said = save_by_two(in, 2, [&](int rank, context& how, part& mine) {
        mine.tensors = 3;
        if (rank == 0) return;
        how.stop = source.token();
        how.progress = on_progress;
      });
      for (const std::string& text : said) {
        CAPTURE(text);
        CHECK((throws ? has(text, "of the program") : text.starts_with("cancelled: save ")));
        CHECK(has(text, "rank 1"));
      }
      CHECK(bucket.keys() == before);
      CHECK(step_in(in, path) == "1");
    }
  }
}

TEST_CASE("save protocol in S3: in the background, with what the tensors were then") {
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const test::fake_s3 bucket;
    use(bucket, std::make_shared<test::fake_s3_clock>(bucket));
    const auto said =
        thread_world::run(3, [&](const thread_communicator& self) -> result<std::size_t> {
          part mine(self, 0);
          const auto queue = in.in_background(self);
          for (int step = 1; step <= 3; ++step) {
            mine.values.assign(mine.values.size(), static_cast<float>(step));
            ZARRPOINT_CHECK(queue->schedule(path + std::to_string(step), mine));
          }
          mine.values.assign(mine.values.size(), 9);
          return queue->finalize();
        });
    for (const auto& one : said) CHECK(one.value() == 3);
    for (int step = 1; step <= 3; ++step)
      CHECK(step_in(in, path + std::to_string(step)) == std::to_string(step));
  }
}

}  // namespace save_protocol_s3_test
