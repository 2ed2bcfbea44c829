// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_input.hpp>
#include <zarrpoint/interop/pickle/pickle_stack.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch::detail {

ZARRPOINT_INLINE pickle_stack::pickle_stack() : arena_(v0::detail::make_counted<pickle_arena>()) {
  arena_->items.resize(4);
  arena_->items[pickle_true].kind = arena_->items[pickle_false].kind = pickle_kind::boolean;
  arena_->items[pickle_true].number = 1;
  arena_->items[pickle_empty_tuple].kind = pickle_kind::tuple;
}

ZARRPOINT_INLINE std::size_t pickle_stack::size() const noexcept {
  return std::max({arena_->items.size(), stack_.size(), marks_.size(), memo_size()});
}

ZARRPOINT_INLINE result<pickle_value> pickle_stack::finish() {
  if (!marks_.empty() || stack_.size() != 1)
    return broken_pickle("it does not end with exactly one value");
  return pickle_value(std::move(arena_), stack_.back());
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_index at) {
  stack_.push_back(at);
  return {};
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_item item) {
  arena_->items.push_back(std::move(item));
  return push(static_cast<pickle_index>(arena_->items.size() - 1));
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_kind kind, std::string text) {
  pickle_item out{.kind = kind};
  if (!text.empty()) out.make_body().text = std::move(text);
  return push(std::move(out));
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_kind kind,
                                                 std::vector<pickle_index> elements) {
  pickle_item out{.kind = kind};
  if (!elements.empty()) out.make_body().elements = std::move(elements);
  return push(std::move(out));
}

ZARRPOINT_INLINE result<pickle_index> pickle_stack::top() const {
  if (stack_.size() <= floor()) return broken_pickle("its stack is empty");
  return stack_.back();
}

ZARRPOINT_INLINE result<pickle_index> pickle_stack::pop() {
  if (stack_.size() <= floor()) return broken_pickle("its stack is empty");
  const pickle_index out = stack_.back();
  stack_.pop_back();
  return out;
}

ZARRPOINT_INLINE result<std::vector<pickle_index>> pickle_stack::pop_mark() {
  if (marks_.empty()) return broken_pickle("a mark is missing");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<pickle_index> out(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return out;
}

ZARRPOINT_INLINE result<void> pickle_stack::drop() {
  if (stack_.size() == floor() && !marks_.empty()) return marks_.pop_back(), result<void>();
  ZARRPOINT_CHECK(pop());
  return {};
}

ZARRPOINT_INLINE result<void> pickle_stack::put(std::size_t index) {
  ZARRPOINT_TRY(value, top());
  if (index < memo_.size()) {
    memo_[index] = value;
  } else if (index == memo_.size() && sparse_memo_.count(index) == 0) {
    memo_.push_back(value);
  } else {
    sparse_memo_[index] = value;
  }
  return {};
}

ZARRPOINT_INLINE result<void> pickle_stack::get(std::size_t index) {
  if (index < memo_.size()) return push(memo_[index]);
  const auto at = sparse_memo_.find(index);
  if (at == sparse_memo_.end())
    return broken_pickle("the memo has no value " + std::to_string(index));
  return push(at->second);
}

}}}  // namespace zarrpoint::v0::torch::detail
