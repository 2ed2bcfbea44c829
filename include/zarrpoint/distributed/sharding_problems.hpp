// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

namespace detail {

/// Processes that have something in common: the first few by number, and how many there are.
class process_list {
 public:
  void add(int rank) {
    if (!ranks_.empty() && ranks_.back() == rank) return;
    const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
    if (at != ranks_.end() && *at == rank) return;
    ranks_.insert(at, rank);
    if (ranks_.size() > most) {
      ranks_.pop_back();
      more_ = true;
    }
  }
  void add(const process_list& others) {
    for (const int rank : others.ranks_) add(rank);
    more_ = more_ || others.more_;
  }
  bool empty() const noexcept { return ranks_.empty(); }

  /// `"process 3"`, `"processes 0, 1 and 4"`, `"processes 0, 1, 2 and others"`.
  std::string text() const {
    std::string out = ranks_.size() == 1 && !more_ ? "process " : "processes ";
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (i != 0) out += i + 1 == ranks_.size() && !more_ ? " and " : ", ";
      out += std::to_string(ranks_[i]);
    }
    return more_ ? out + " and others" : out;
  }

 private:
  static constexpr std::size_t most = 8;

  std::vector<int> ranks_;
  bool more_ = false;
};

/// `"a, b, ..."` of `all` things, the first of which are named.
inline std::string list_text(const std::vector<std::string>& named, long long all) {
  std::string out;
  for (std::size_t i = 0; i < named.size(); ++i) out += (i == 0 ? "" : ", ") + named[i];
  return static_cast<long long>(named.size()) < all ? out + ", ..." : out;
}

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
  result<void> finish() && {
    if (count_ == 0) return {};
    std::string text =
        "the sharding has " + std::to_string(count_) + (count_ == 1 ? " problem:" : " problems:");
    std::size_t said = 0;
    for (auto& [key, of_key] : by_key_) {
      for (const std::string& one : of_key) {
        if (said++ == max_in_all) break;
        text += "\n  \"" + shorten(key) + "\": " + one;
      }
      if (said > max_in_all) break;
    }
    said = std::min(said, max_in_all);
    if (said < count_) text += "\n  and " + std::to_string(count_ - said) + " more";
    return error{errc::invalid_argument, std::move(text)};
  }

 private:
  static std::string shorten(std::string text) {
    if (text.size() <= max_length) return text;
    text.resize(max_length);
    return text += "...";
  }

  std::map<std::string, std::vector<std::string>> by_key_;
  std::size_t count_ = 0;
};

}  // namespace detail

}  // namespace zarrpoint::inline v0
