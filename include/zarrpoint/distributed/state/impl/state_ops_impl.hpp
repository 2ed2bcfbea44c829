// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/sharded_factory.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE bool all_holes(const state::list& elements) {
  return std::all_of(elements.begin(), elements.end(),
                     [](const state& element) { return element.is_hole(); });
}

ZARRPOINT_INLINE result<state> map_leaves(const state& at, state_place& place, leaf_mapper f) {
  if (const state::map* members = at.if_map()) {
    state::map out;
    for (const auto& [key, child] : *members) {
      ZARRPOINT_TRY(made, place.within(key, [&, &of = child] { return map_leaves(of, place, f); }));
      out.emplace_hint(out.end(), key, std::move(made));
    }
    return state(std::move(out));
  }
  if (const state::list* elements = at.if_list()) {
    state::list out;
    out.reserve(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      ZARRPOINT_TRY(made, place.within(i, [&] { return map_leaves((*elements)[i], place, f); }));
      out.push_back(std::move(made));
    }
    return state(std::move(out));
  }
  if (at.is_hole()) return at;
  return f(place, at);
}

ZARRPOINT_INLINE state emptied(const state& like) {
  if (like.if_map() != nullptr) return state::map();
  if (const state::list* elements = like.if_list()) return state::list(elements->size());
  return {};
}

ZARRPOINT_INLINE result<void> merge_into(state& into, const state& from, state_place& place) {
  if (from.is_hole()) return {};
  if (into.is_hole()) {
    into = from;
    return {};
  }
  if (into.kind() != from.kind() || !into.is_container())
    return place.failure(errc::invalid_argument,
                         "a " + std::string(to_string(into.kind())) + " and a " +
                             std::string(to_string(from.kind())) + " cannot be merged");
  if (state::map* members = into.if_map()) {
    for (const auto& [key, child] : *from.if_map()) {
      const auto [existing, is_new] = members->try_emplace(key, child);
      if (is_new) continue;
      ZARRPOINT_CHECK(place.within(key, [&, &target = existing->second, &of = child] {
        return merge_into(target, of, place);
      }));
    }
    return {};
  }
  state::list& elements = *into.if_list();
  const state::list& others = *from.if_list();
  // A process without layers of its own says nothing of how many another has.
  if (others.empty()) return {};
  if (elements.empty()) {
    elements = others;
    return {};
  }
  if (elements.size() != others.size())
    return place.failure(errc::invalid_argument, "lists of " + std::to_string(elements.size()) +
                                                     " and of " + std::to_string(others.size()) +
                                                     " elements cannot be merged");
  for (std::size_t i = 0; i < others.size(); ++i) {
    ZARRPOINT_CHECK(place.within(i, [&] { return merge_into(elements[i], others[i], place); }));
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<state> merge(state a, const state& b) {
  detail::state_place place;
  ZARRPOINT_CHECK(detail::merge_into(a, b, place));
  return a;
}

ZARRPOINT_INLINE result<state> without_data(const state& of) {
  return transform_leaves(of, [](const state& leaf) -> state {
    if (const sharded_tensor* tensor = leaf.if_tensor()) return tensor->without_data();
    if (const sharded_object* object = leaf.if_object()) return object->without_data();
    if (const sharded_factory* factory = leaf.if_factory()) return factory->without_data();
    return leaf;
  });
}

ZARRPOINT_INLINE result<state> add_prefix(const state& of, std::string_view prefix) {
  return rename_keys(of, [&](const std::string& key) { return std::string(prefix) + key; });
}

ZARRPOINT_INLINE result<state> replace_prefix(const state& of, const prefix_change& change) {
  return rename_keys(of, [&](const std::string& key) -> result<std::string> {
    if (key.starts_with(change.from)) return change.to + key.substr(change.from.size());
    return error{errc::invalid_argument,
                 "key \"" + key + "\" does not begin with \"" + change.from + "\""};
  });
}

ZARRPOINT_INLINE result<state> map_prefixes(const state& of,
                                            std::span<const prefix_change> changes) {
  return rename_keys(of, [&](const std::string& key) {
    for (const prefix_change& change : changes) {
      if (key.starts_with(change.from)) return change.to + key.substr(change.from.size());
    }
    return key;
  });
}

}}  // namespace zarrpoint::v0
