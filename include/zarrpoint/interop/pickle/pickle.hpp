// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <algorithm>
#include <map>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// What a pickle may cost at most. A value takes 24 bytes of memory, some 100 with a text or
/// with elements, a call twice that, and each at least one byte of the pickle.
struct pickle_limits {
  std::uint64_t max_bytes = std::uint64_t{256} << 20;
  std::size_t max_values = std::size_t{1} << 23;  ///< also of the memo and of the stack

  /// The same within a budget such as `limits::memory`: a value takes some 256 bytes with what is
  /// made of it.
  constexpr pickle_limits within(std::uint64_t memory) const noexcept {
    const std::uint64_t values = memory / 256 + (std::uint64_t{1} << 10);
    return {std::min(max_bytes, v0::detail::document_bytes_within(memory)),
            static_cast<std::size_t>(std::min<std::uint64_t>(max_values, values))};
  }
};

/// Reads a pickle of protocol 2 to 5, and runs nothing of it: what Python would call becomes a
/// value that says so. Errors: `corrupt`; `unsupported` for older protocols, opcodes of registered
/// extensions and data kept apart; `resource_limit`.
result<pickle_value> read_pickle(bytes_view bytes, const pickle_limits& limits = {});

/// A pickle that other bytes follow.
struct first_pickle {
  pickle_value value;
  std::size_t size;  ///< of the pickle, in bytes
};

/// The first of pickles in a row; nothing where `bytes` end before it does. Errors: as above.
result<std::optional<first_pickle>> read_first_pickle(bytes_view bytes,
                                                      const pickle_limits& limits = {});

/// The bytes that a value stands for: `bytes`, `bytearray`, the call by which protocol 2 writes
/// them (`_codecs.encode`), or an `io.BytesIO` that holds them. Errors: `unsupported` for others.
result<std::vector<std::byte>> to_bytes(const pickle_value& value, int levels = 4);

/// What a conversion to a node may take: a small pickle can be a large tree.
struct pickle_node_limits {
  std::size_t max_depth = 100;
  std::size_t max_values = std::size_t{1} << 22;
  std::size_t max_text = std::size_t{1} << 28;  ///< bytes of strings and keys
};

/// A pickled value as JSON: what JSON knows, and `OrderedDict`s; a tuple becomes an array.
/// Errors: `unsupported` for other values, with where it is; `resource_limit`.
result<json> to_json(const pickle_value& value, const pickle_node_limits& limits = {});

}}}  // namespace zarrpoint::v0::torch

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
  std::size_t size() const noexcept {
    return std::max({arena_->items.size(), stack_.size(), marks_.size(), memo_size()});
  }
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
