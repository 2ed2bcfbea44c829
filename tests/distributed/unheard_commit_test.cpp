// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A process that gave its receipt and does not hear what became of the commit: its error does not
// say that the save failed.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>

#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unheard_commit_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

enum class trouble { none, loses, garbles, exhausts };

/// A communicator that takes part in everything; of exchange `at` this process hears nothing, or
/// what nobody sent.
struct hard_of_hearing {
  thread_communicator inner;
  trouble has = trouble::none;
  int at = -1;
  std::shared_ptr<int> count = std::make_shared<int>(0);

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    auto answer = inner.exchange(std::move(to_each));
    if ((*count)++ != at || !answer) return answer;
    if (has == trouble::loses) return error{errc::unavailable, "the line is dead"};
#if ZARRPOINT_EXCEPTIONS
    if (has == trouble::exhausts) throw std::bad_alloc();
#endif
    // Before the five bytes that tell in which collective it was sent.
    if (has == trouble::garbles && (*answer)[0].size() > 5)
      (*answer)[0].erase((*answer)[0].begin(), (*answer)[0].end() - 5);
    return answer;
  }
};
static_assert(communicator<hard_of_hearing>);

struct outcomes {
  std::vector<std::string> said;
  int exchanges = 0;
};

/// Two processes save `step`; rank 1 has trouble.
outcomes save_by_two(const std::string& path, int step, trouble of = trouble::none, int at = -1) {
  outcomes out;
  const auto said =
      thread_world::run(2, [&](const thread_communicator& self) -> result<group_save_report> {
        hard_of_hearing ranks{self};
        if (self.rank() == 1) ranks.has = of, ranks.at = at;
        const auto key = "w" + std::to_string(self.rank());
        const state tree{
            {"step", static_cast<std::int64_t>(step)},
            {key, with_values(from_rank_offsets(key, {dtype_kind::int8, {3}}, {}).value(),
                              static_cast<std::uint64_t>(step))}};
        auto saved = save(path, tree, group_of(ranks), {.storage = {.sync = false}});
        if (self.rank() == 0) out.exchanges = *ranks.count;
        return saved;
      });
  for (const auto& one : said) out.said.push_back(one ? "saved" : to_string(one.failure()));
  return out;
}

}  // namespace

TEST_CASE("unheard commit: no error says that a save failed which took place") {
  const test::temp_directory folder;
  const std::string path = folder / "m";
  int step = 1;
  const outcomes all = save_by_two(path, step);
  REQUIRE(all.said == std::vector<std::string>(2, "saved"));
  REQUIRE(all.exchanges > 4);
  const int receipts = all.exchanges - 2, commit = all.exchanges - 1;
  for (const trouble of : {trouble::loses, trouble::garbles, trouble::exhausts}) {
#if !ZARRPOINT_EXCEPTIONS
    if (of == trouble::exhausts) continue;
#endif
    for (const int at : {receipts - 1, receipts, commit}) {
      CAPTURE(static_cast<int>(of));
      CAPTURE(at);
      const std::string before = open(path)->id();
      const outcomes done = save_by_two(path, ++step, of, at);
      const std::string now = open(path)->id();
      const std::string &root = done.said[0], &other = done.said[1];
      CAPTURE(root);
      CAPTURE(other);
      if (now != before) {
        // All receipts were there.
        CHECK((at >= receipts || other == "saved"));
        CHECK((root == "saved" || (root.starts_with("outcome_unknown: save " + path) &&
                                   has(root, "the checkpoint is committed"))));
        if (other != "saved") {
          CHECK(other.starts_with("outcome_unknown: save " + path));
          CHECK(has(other,
                    "this process gave its receipt, so rank 0 may have committed the "
                    "checkpoint: open " +
                        path + " to see which one is there"));
        }
      } else {
        CHECK_FALSE(root.starts_with("outcome_unknown"));
      }
      // A receipt that was not given yet: the save cannot have taken place.
      if (at < receipts) CHECK_FALSE(other.starts_with("outcome_unknown"));
      // What happens to one process after it gave its receipt does not stop the others.
      if (at >= receipts) CHECK(now != before);
      // In the gather of the receipts rank 1 is sent nothing that it needs.
      const bool heard = of == trouble::garbles && at == receipts;
      if (at >= receipts) CHECK((other == "saved") == heard);
    }
  }
}

}  // namespace unheard_commit_test
