// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Messages between processes, counted against `limits::memory` for as long as it lives. What a
/// communicator copies of them is its own.
class message_budget {
 public:
  /// Of a context that has scratch memory, and outlives it.
  explicit message_budget(const context& how) : account_(*how.scratch), limit_(how.limit.memory) {}
  explicit message_budget(context&&) = delete;

  /// Counts `what` of `rank`, such as "the receipt". Errors: `resource_limit`, naming both.
  result<void> count(std::string_view what, int rank, std::size_t bytes);
  /// The same for those of all ranks, entry `r` of rank `r`, but for `mine`, which is counted
  /// already; -1 where none is.
  result<void> count(std::string_view what, std::span<const message> of_ranks, int mine);

 private:
  scratch_account account_;
  std::size_t limit_;
};

}}}  // namespace zarrpoint::v0::detail
