// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

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
  // The keys "a" and "a/b" may both be there, with "a-b" between them: a prefix comes first.
  std::sort(out.begin(), out.end(), [](const list_entry& a, const list_entry& b) {
    return a.name != b.name ? a.name < b.name : a.is_prefix && !b.is_prefix;
  });
  const auto same_name = [](const list_entry& a, const list_entry& b) { return a.name == b.name; };
  out.erase(std::unique(out.begin(), out.end(), same_name), out.end());
  return out;
}

}}}  // namespace zarrpoint::v0::detail
