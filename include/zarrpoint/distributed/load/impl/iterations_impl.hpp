// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/load/iterations.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string iteration_name(index_t iteration) {
  const std::string digits = std::to_string(iteration);
  return "iter_" + std::string(digits.size() < 7 ? 7 - digits.size() : 0, '0') + digits;
}

ZARRPOINT_INLINE std::optional<index_t> parse_iteration_name(std::string_view name) {
  constexpr std::string_view start = "iter_";
  if (!name.starts_with(start)) return std::nullopt;
  const std::string_view digits = name.substr(start.size());
  index_t out = -1;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (status != std::errc() || out < 0 || iteration_name(out) != name) return std::nullopt;
  return out;
}

ZARRPOINT_INLINE result<location> iteration_at(const location& folder, index_t iteration) {
  if (iteration < 0) return error{errc::invalid_argument, "iteration " + std::to_string(iteration)};
  if (detail::location_access::is_path(folder))
    return location(folder.name() + "/" + iteration_name(iteration));
  ZARRPOINT_TRY(place, detail::location_access::to_read(folder));
  ZARRPOINT_TRY(key, place.key.child(iteration_name(iteration)));
  return location(place.store, key);
}

ZARRPOINT_INLINE result<std::vector<index_t>> list_iterations(const location& folder,
                                                              const context& how) {
  std::vector<index_t> out;
  const auto place = detail::location_access::to_read(folder, how.stores, how.limit.memory);
  if (!place && place.failure().code == errc::not_found) return out;
  if (!place) return place.failure();
  ZARRPOINT_TRY(entries, place->store.list(place->key));
  for (const list_entry& entry : entries) {
    const auto iteration = parse_iteration_name(entry.name);
    if (iteration && entry.is_prefix) out.push_back(*iteration);
  }
  std::sort(out.begin(), out.end());
  return out;
}

ZARRPOINT_INLINE result<bool> remove_iteration(const location& folder, index_t iteration,
                                               const context& how) {
  ZARRPOINT_TRY(where, iteration_at(folder, iteration));
  auto place = detail::location_access::to_write(where, true, how.stores);
  if (!place && place.failure().code == errc::not_found) return false;
  if (!place) return std::move(place).failure();
  return place->store.erase_all(place->key);
}

}}  // namespace zarrpoint::v0
