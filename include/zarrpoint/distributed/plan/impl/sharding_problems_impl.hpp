// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/plan/sharding_problems.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void process_list::add(int rank) {
  if (!ranks_.empty() && ranks_.back() == rank) return;
  const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  if (at != ranks_.end() && *at == rank) return;
  ranks_.insert(at, rank);
  if (ranks_.size() > most) {
    ranks_.pop_back();
    more_ = true;
  }
}

ZARRPOINT_INLINE void process_list::add(const process_list& others) {
  for (const int rank : others.ranks_) add(rank);
  more_ = more_ || others.more_;
}

ZARRPOINT_INLINE std::string process_list::text() const {
  std::string out = ranks_.size() == 1 && !more_ ? "process " : "processes ";
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (i != 0) out += i + 1 == ranks_.size() && !more_ ? " and " : ", ";
    out += std::to_string(ranks_[i]);
  }
  return more_ ? out + " and others" : out;
}

ZARRPOINT_INLINE std::string list_text(const std::vector<std::string>& named, long long all) {
  std::string out;
  for (std::size_t i = 0; i < named.size(); ++i) out += (i == 0 ? "" : ", ") + named[i];
  return static_cast<long long>(named.size()) < all ? out + ", ..." : out;
}

ZARRPOINT_INLINE result<void> sharding_problems::finish() && {
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

ZARRPOINT_INLINE std::string sharding_problems::shorten(std::string text) {
  if (text.size() <= max_length) return text;
  text.resize(max_length);
  return text += "...";
}

}}}  // namespace zarrpoint::v0::detail
