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

/// Every leaf of a checkpoint, as the type that `Registry` gives for its stored kind and dtype: a
/// map from names to variants. Leaves are loaded in parallel. Errors: the first by name; those of
/// `checkpoint::load`, and `unsupported` for a leaf that no entry of the registry restores.
template <class Registry = default_types>
result<std::map<std::string, typename Registry::value>> load_all(const checkpoint& from,
                                                                 const load_options& options = {}) {
  using value = typename Registry::value;
  const std::vector<std::string> names = from.names();
  std::vector<value> values(names.size());
  ZARRPOINT_CHECK(parallel_for(
      from.how().executor, names.size(),
      [&](std::size_t i) -> result<void> {
        ZARRPOINT_TRY(known, from.metadata(names[i]));
        tensor_spec wanted = known.spec;
        if (const dtype* cast = detail::last_set(options.rules, names[i], &load_rule::cast))
          wanted.type = *cast;
        return Registry::dispatch(known.typestr, wanted, [&](auto entry) -> result<void> {
          using type = typename decltype(entry)::type;
          load_options by = options;
          if constexpr (detail::entry_traits<decltype(entry)>::casts) by.cast = true;
          ZARRPOINT_TRY(loaded,
                        (from.load_as<type, typename decltype(entry)::handler>(names[i], by)));
          values[i].template emplace<type>(std::move(loaded));
          return {};
        });
      },
      {.stop = from.how().stop}));
  std::map<std::string, value> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.emplace_hint(out.end(), names[i], std::move(values[i]));
  return out;
}

}  // namespace zarrpoint::inline v0
