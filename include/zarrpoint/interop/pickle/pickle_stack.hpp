// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch::detail {

/// What the opcodes of a pickle work on: its values so far, the stack of those that are not part of
/// another yet, with its marks, and the memo. Errors: `corrupt`.
class pickle_stack {
 public:
  pickle_stack();

  /// Room for that many values; what nothing fills costs no memory.
  void reserve(std::size_t values) { arena_->items.reserve(values + 4); }
  pickle_item& item(pickle_index at) { return arena_->items[at]; }
  /// The largest number of values, marks, or places in the stack or the memo.
  std::size_t size() const noexcept;
  /// The one value that is left at the end.
  result<pickle_value> finish();

  result<void> push(pickle_index at);
  result<void> push(pickle_item item);
  result<void> push(pickle_kind kind, std::string text);
  result<void> push(pickle_kind kind, std::vector<pickle_index> elements);
  result<pickle_index> top() const;
  result<pickle_index> pop();

  void mark() { marks_.push_back(stack_.size()); }
  /// All above the last mark, which goes.
  result<std::vector<pickle_index>> pop_mark();
  /// The last value goes, or the last mark where that is on top.
  result<void> drop();

  std::size_t memo_size() const noexcept { return memo_.size() + sparse_memo_.size(); }
  result<void> put(std::size_t index);
  result<void> get(std::size_t index);

 private:
  std::size_t floor() const noexcept { return marks_.empty() ? 0 : marks_.back(); }

  std::shared_ptr<pickle_arena> arena_;
  std::vector<pickle_index> stack_;
  std::vector<std::size_t> marks_;
  // Numbers follow each other in the pickles of Python, and the others are kept apart.
  std::vector<pickle_index> memo_;
  std::map<std::size_t, pickle_index> sparse_memo_;  // not hashed: the file chooses the numbers
};

}}}  // namespace zarrpoint::v0::torch::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/pickle/impl/pickle_stack_impl.hpp>
#endif
