// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/hierarchy/group_budget.hpp>
#include <zarrpoint/interop/hierarchy/shown_names.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

inline void append_escaped(std::string& to, char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  to.append(1, '%').append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
}

/// Documents of Zarr, which lie beside what has such a name.
inline bool is_document_name(std::string_view segment) {
  return segment == "zarr.json" || segment.starts_with(".z");
}

/// Hierarchies are walked no deeper than 64 groups.
inline constexpr std::size_t most_shown_segments = 64;

inline bool is_shown_as_it_is(std::string_view name) {
  if (name.empty() || name.size() > max_leaf_name || !store_key::parse(name)) return false;
  std::size_t segments = 0;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t end = name.find('/', at);
    if (is_document_name(name.substr(at, end - at)) || ++segments > most_shown_segments)
      return false;
    at = end == std::string_view::npos ? end : end + 1;
  }
  return true;
}

/// That something was cut off, and a number that tells texts with the same beginning apart.
inline void append_cut(std::string& to, std::string_view whole) {
  std::uint32_t number = 2166136261U;  // FNV-1a
  for (const char c : whole) number = (number ^ static_cast<unsigned char>(c)) * 16777619U;
  to.append("...").append(std::to_string(number));
}

inline void append_segment(std::string& to, std::string_view segment) {
  constexpr std::size_t most = 200;  // file systems have names of 255 bytes
  if (segment.empty()) to += "%";
  const bool is_text = is_utf8(segment);
  std::size_t first = to.size();
  for (const char c : segment.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte != 0x7f && c != '\\' && (byte < 0x80 || is_text);
    is_plain ? to.append(1, c) : (append_escaped(to, c), to);
  }
  if (segment.size() > most) {
    while (to.size() > first && (static_cast<unsigned char>(to.back()) & 0x80) != 0) to.pop_back();
    append_cut(to, segment);
  }
  if (segment == "." || segment == ".." || is_document_name(segment)) {
    to.resize(first);
    for (const char c : segment) c == '.' ? append_escaped(to, c) : void(to += c);
  }
}

/// Leaves room for what tells it from others.
inline void shorten(std::string& key) {
  constexpr std::size_t most = max_leaf_name - 128;
  if (key.size() <= most) return;
  const std::string whole = key;
  key.resize(most);
  const auto is_cut = [](char c) {
    return (static_cast<unsigned char>(c) & 0x80) != 0 || c == '/' || c == '%';
  };
  while (!key.empty() && is_cut(key.back())) key.pop_back();
  append_cut(key, whole);
}

/// A name that is not a key, as one.
inline std::string made_key(std::string_view name) {
  std::string out;
  std::size_t segments = 0;
  for (std::size_t at = 0;; ++at) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    append_segment(out, name.substr(at, end - at));
    if (end == name.size() || out.size() > max_leaf_name) break;
    ++segments < most_shown_segments / 2 ? out.append(1, '/') : out.append("%2F");
    at = end;
  }
  shorten(out);
  if (store_key::parse(out)) return out;
  std::string plain;
  for (const char c : name.substr(0, 64)) append_escaped(plain, c);
  return plain;
}

ZARRPOINT_INLINE std::vector<std::string> shown_names(const std::vector<std::string>& names) {
  // From the shortest: what lies above another is placed before it.
  std::vector<std::size_t> order(names.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return names[a].size() < names[b].size(); });
  std::vector<std::string> out(names.size());
  std::unordered_set<std::string_view> taken;  // those in `out`
  std::unordered_set<std::size_t> groups;      // hashes of what lies above them
  std::unordered_map<std::string, std::size_t> counts;
  taken.reserve(names.size());
  const auto for_each_group = [](std::string& of, auto&& f) {
    for (std::size_t at = of.find('/'); at != of.npos; at = of.find('/', at + 1)) f(at);
  };
  const std::hash<std::string_view> hash;
  const auto take = [&](std::string& shown) {
    taken.insert(shown);
    if (shown.find_first_of("%~.") == shown.npos) return;  // no name that is made is like them
    for_each_group(
        shown, [&](std::size_t at) { groups.insert(hash(std::string_view(shown).substr(0, at))); });
  };
  std::erase_if(order, [&](std::size_t i) {
    bool is_own = is_shown_as_it_is(names[i]) && !taken.contains(names[i]);
    out[i] = names[i];
    if (is_own)
      for_each_group(out[i], [&](std::size_t at) {
        is_own = is_own && !taken.contains(std::string_view(names[i]).substr(0, at));
      });
    if (is_own) take(out[i]);
    return is_own;
  });
  for (const std::size_t i : order) {
    std::string& shown = out[i];
    if (!is_shown_as_it_is(shown)) shown = made_key(shown);
    for_each_group(shown, [&](std::size_t at) {
      if (taken.contains(std::string_view(shown).substr(0, at))) shown.replace(at, 1, "%2F");
    });
    if (shown.size() > max_leaf_name) shorten(shown);
    if (taken.contains(shown) || groups.contains(hash(shown))) {
      const std::string plain = shown;
      std::size_t& count = counts[plain];
      do shown = plain + '~' + std::to_string(++count + 1);
      while (taken.contains(shown) || groups.contains(hash(shown)));
    }
    take(shown);
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
