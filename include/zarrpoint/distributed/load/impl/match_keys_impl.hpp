// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/load/match_keys.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool wants_missing(strictness mode) noexcept {
  return mode == strictness::log_all || mode == strictness::raise_all ||
         mode == strictness::return_all;
}

ZARRPOINT_INLINE std::string in_braces(const key_set& keys) {
  std::string text = "{";
  for (const std::string& key : keys) text += (text.size() == 1 ? "'" : ", '") + key + "'";
  return text + "}";
}

ZARRPOINT_INLINE std::string to_string(const key_mismatch& keys) {
  std::string text;
  if (!keys.missing.empty())
    text += "Missing keys (for all ranks): " + in_braces(keys.missing) + ". ";
  if (!keys.unexpected.empty())
    text += "Unexpected keys (for this rank): " + in_braces(keys.unexpected) + ". ";
  if (!text.empty()) text.pop_back();
  return text;
}

ZARRPOINT_INLINE std::vector<std::string_view> stored_keys(const sharded_reader& reader) {
  std::vector<std::string_view> out;
  for (const stored_tensor& one : reader.tensors()) out.emplace_back(one.key);
  for (const object_id& one : reader.objects()) out.emplace_back(one.key);
  sort_names(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ZARRPOINT_INLINE result<key_mismatch> match_keys(const key_set& asked,
                                                 const std::vector<std::string_view>& stored,
                                                 strictness mode, const any_communicator& ranks) {
  key_mismatch out;
  for (const std::string& key : asked) {
    if (!std::binary_search(stored.begin(), stored.end(), key)) out.unexpected.insert(key);
  }
  if (!wants_missing(mode)) return out;
  message bits((stored.size() + 7) / 8);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (asked.contains(stored[i])) bits[i / 8] |= static_cast<std::byte>(1U << (i % 8));
  }
  ZARRPOINT_TRY(all, all_gather(ranks, bits));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].size() != bits.size())
      return error{errc::corrupt, "rank " + std::to_string(rank) +
                                      " finds other keys in the "
                                      "checkpoint: it has changed"};
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= all[rank][i];
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if ((bits[i / 8] & static_cast<std::byte>(1U << (i % 8))) == std::byte{0})
      out.missing.emplace(stored[i]);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
