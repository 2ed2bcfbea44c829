// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/checkpoint.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/handler/default_types.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

namespace detail {

/// Whether all leaves together are within `limits::memory`; nothing is read but metadata.
template <class = void>
result<void> check_total_budget(const checkpoint& from) {
  const std::size_t limit = from.how().limit.memory;
  if (limit == SIZE_MAX) return {};
  std::size_t total = 0;
  for (const std::string& name : from.names()) {
    ZARRPOINT_TRY(known, from.metadata(name));
    ZARRPOINT_TRY(bytes, byte_count(known.spec.shape, memory_size(known.spec.type)));
    if (bytes > limit - total)
      return error{errc::resource_limit, "load all: the leaves up to " + in_quotes(name) +
                                             " have more bytes than limits::memory of " +
                                             std::to_string(limit)};
    total += bytes;
  }
  return {};
}

}  // namespace detail

/// Every leaf of a checkpoint, as the type that `Registry` gives for its stored kind and dtype: a
/// map from names to variants. Leaves are loaded in parallel. Errors: `resource_limit` before any
/// is loaded when all of them exceed `limits::memory`; then the first by name, those of
/// `checkpoint::load`, and `unsupported` for a leaf that no entry of the registry restores.
template <class Registry = default_types>
result<std::map<std::string, typename Registry::value>> load_all(const checkpoint& from,
                                                                 const load_options& options = {}) {
  using value = typename Registry::value;
  ZARRPOINT_CHECK(detail::check_total_budget(from));
  const std::vector<std::string> names = from.names();
  std::vector<value> values(names.size());
  ZARRPOINT_CHECK(parallel_for(from.how().executor, names.size(),
                               [&](std::size_t i) -> result<void> {
                                 ZARRPOINT_TRY(loaded,
                                               from.template load_any<Registry>(names[i], options));
                                 values[i] = std::move(loaded);
                                 return {};
                               },
                               {.stop = from.how().stop}));
  std::map<std::string, value> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.emplace_hint(out.end(), names[i], std::move(values[i]));
  return out;
}

}  // namespace zarrpoint::inline v0
