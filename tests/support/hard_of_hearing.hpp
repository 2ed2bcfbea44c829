// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace zarrpoint_test {

using namespace zarrpoint;

enum class trouble { loses, cuts, exhausts };

/// A communicator that takes part in everything; of exchange `at` this process
/// hears nothing, or half of each message, or has no memory for it.
struct hard_of_hearing {
  thread_communicator inner;
  trouble has = trouble::loses;
  int at = -1;
  std::shared_ptr<int> count = std::make_shared<int>(0);

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    constexpr std::ptrdiff_t tail = 5;  // which tells in which collective it was sent
    auto answer = inner.exchange(std::move(to_each));
    if ((*count)++ != at || !answer) return answer;
    if (has == trouble::loses) return error{errc::unavailable, "the line is dead"};
#if ZARRPOINT_EXCEPTIONS
    if (has == trouble::exhausts) throw std::bad_alloc();
#endif
    for (message& one : *answer)
      if (const auto size = static_cast<std::ptrdiff_t>(one.size()) - tail; size > 0)
        one.erase(one.begin() + size / 2, one.end() - tail);
    return answer;
  }
};
static_assert(communicator<hard_of_hearing>);

}  // namespace zarrpoint_test
