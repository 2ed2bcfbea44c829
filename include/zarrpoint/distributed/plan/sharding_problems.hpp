// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Processes that have something in common: the first few by number, and how many there are.
class process_list {
 public:
  void add(int rank);
  void add(const process_list& others);
  bool empty() const noexcept { return ranks_.empty(); }

  /// `"process 3"`, `"processes 0, 1 and 4"`, `"processes 0, 1, 2 and others"`.
  std::string text() const;

 private:
  static constexpr std::size_t most = 8;

  std::vector<int> ranks_;
  bool more_ = false;
};

/// `"a, b, ..."` of `all` things, the first of which are named.
std::string list_text(const std::vector<std::string>& named, long long all);

/// What is wrong with a sharding, by key: of each key the first few things, of all keys not more
/// than fit a message that somebody reads.
class sharding_problems {
 public:
  static constexpr std::size_t max_named = 4;     ///< boxes or values in one sentence
  static constexpr std::size_t max_of_key = 8;    ///< sentences about a key
  static constexpr std::size_t max_in_all = 24;   ///< sentences in a message
  static constexpr std::size_t max_length = 480;  ///< characters of a sentence

  /// Notes what `text()` says about `key`, unless enough is said.
  template <class Text>
  void add(const std::string& key, const Text& text) {
    ++count_;
    if (by_key_.size() >= max_in_all && by_key_.rbegin()->first < key) return;
    std::vector<std::string>& of_key = by_key_[key];
    if (of_key.size() < max_of_key) of_key.push_back(shorten(text()));
    if (by_key_.size() > max_in_all) by_key_.erase(std::prev(by_key_.end()));
  }

  /// Errors: `invalid_argument`, naming the problems, if there are any.
  result<void> finish() &&;

 private:
  static std::string shorten(std::string text);

  std::map<std::string, std::vector<std::string>> by_key_;
  std::size_t count_ = 0;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/impl/sharding_problems_impl.hpp>
#endif
