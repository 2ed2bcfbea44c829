// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/executor.hpp>

#include <deque>
#include <memory>
#include <utility>

namespace zarrpoint::testing {

/// Keeps what it is given until the test runs it, or drops it. One thread only.
struct manual_executor {
  unsigned workers = 2;
  std::shared_ptr<std::deque<task>> queue = std::make_shared<std::deque<task>>();

  void execute(task work) const { queue->push_back(std::move(work)); }
  unsigned concurrency() const noexcept { return workers; }

  void run_all() const {
    while (!queue->empty()) {
      task work = std::move(queue->front());
      queue->pop_front();
      work();
    }
  }
};

/// Loses every task.
struct dropping_executor {
  void execute(const task&) const {}
  unsigned concurrency() const noexcept { return 4; }
};

}  // namespace zarrpoint::testing
