// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/store/base/concepts.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The direct children of `prefix`. `at_least(text)` gives the first of the keys that is not less
/// than `text`, as a pointer, or null: one question for each child, whatever lies beneath it.
template <class F>
std::vector<list_entry> list_children(const store_key& prefix, F&& at_least) {
  std::vector<list_entry> out;
  const std::string start = prefix.is_root() ? std::string() : std::string(prefix.str()) + '/';
  std::string from = start;
  while (const std::string* key = at_least(from)) {
    if (!key->starts_with(start)) break;
    const std::string_view rest = std::string_view(*key).substr(start.size());
    const std::string_view name = rest.substr(0, rest.find('/'));
    const bool is_prefix = name.size() != rest.size();
    out.push_back({std::string(name), is_prefix});
    from = start;
    from.append(name);
    // Behind all keys beneath it; '0' follows '/'. After an object, the keys beneath it may come.
    from += is_prefix ? '0' : '\0';
  }
  sort_by_text(out, [](const list_entry& one) -> std::string_view { return one.name; });
  // The keys "a" and "a/b" may both be there, with "a-b" between them: what is a prefix, too, is
  // one.
  std::size_t kept = 0;
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i].name == out[kept].name) {
      out[kept].is_prefix = true;
    } else if (++kept != i) {
      out[kept] = std::move(out[i]);
    }
  }
  if (kept + 1 < out.size()) out.resize(kept + 1);
  return out;
}

}}}  // namespace zarrpoint::v0::detail
