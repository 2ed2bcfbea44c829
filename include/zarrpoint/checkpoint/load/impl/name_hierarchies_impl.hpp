// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/name_hierarchies.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The topmost groups and arrays of a store whose root is none: eight at most, of the first hundred
/// directories.
ZARRPOINT_INLINE std::vector<std::string> hierarchies_in(const any_store& store) {
  std::vector<std::string> out;
  std::vector<std::string> open{""};
  for (std::size_t i = 0; i < open.size() && i < 100; ++i) {
    const auto at = store_key::parse(open[i]);
    const auto children = at ? store.list(*at) : result<std::vector<list_entry>>(at.failure());
    if (!children) continue;
    const auto is_document = [](const list_entry& child) {
      return child.name == "zarr.json" || child.name == ".zgroup" || child.name == ".zarray";
    };
    if (std::any_of(children->begin(), children->end(), is_document)) {
      out.push_back(open[i]);
      if (out.size() == 8) break;
      continue;
    }
    for (const list_entry& child : *children)
      if (child.is_prefix)
        open.push_back(open[i].empty() ? child.name : open[i] + '/' + child.name);
  }
  return out;
}

ZARRPOINT_INLINE error name_hierarchies(error failure, const any_store& store,
                                        const std::string& place) {
  if (failure.code != errc::not_found) return failure;
  const std::vector<std::string> found = hierarchies_in(store);
  if (found.empty()) return failure;
  const std::string first = in_quotes(place + (place.ends_with('/') ? "" : "/") + found[0]);
  if (found.size() == 1) {
    failure.message += "; open " + first + ", which lies beneath it";
    return failure;
  }
  failure.message += "; beneath it are";
  for (std::size_t i = 0; i < found.size(); ++i)
    failure.message.append(i == 0 ? " " : ", ").append(in_quotes(found[i]));
  failure.message += ": open one of them, as " + first;
  return failure;
}

}}}  // namespace zarrpoint::v0::detail
