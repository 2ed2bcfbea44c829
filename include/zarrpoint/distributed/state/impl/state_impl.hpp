// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/shard/sharded_leaf.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_path.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE bool state::is_container() const noexcept {
  return kind() == state_kind::map || kind() == state_kind::list;
}

ZARRPOINT_INLINE result<const state*> state::at(std::string_view path) const {
  if (const state* found = find(path)) return found;
  return error{errc::not_found, "state: nothing at " + detail::quoted_path(path)};
}

ZARRPOINT_INLINE state::state() = default;

ZARRPOINT_INLINE state::state(const state&) = default;

ZARRPOINT_INLINE state::state(state&&) noexcept = default;

ZARRPOINT_INLINE state& state::operator=(const state&) = default;

ZARRPOINT_INLINE state& state::operator=(state&&) noexcept = default;

ZARRPOINT_INLINE state::~state() = default;

ZARRPOINT_INLINE state::state(std::initializer_list<member> members) : held_(map{}) {
  for (const member& m : members) std::get<map>(held_).emplace(m.key, m.value);
}

ZARRPOINT_INLINE state::state(map members) : held_(std::move(members)) {}

ZARRPOINT_INLINE state::state(list elements) : held_(std::move(elements)) {}

ZARRPOINT_INLINE state::state(std::nullptr_t) : held_(node()) {}

ZARRPOINT_INLINE state::state(const char* text) : held_(node(text)) {}

ZARRPOINT_INLINE state::state(std::string text) : held_(node(std::move(text))) {}

ZARRPOINT_INLINE state::state(std::string_view text) : held_(node(text)) {}

ZARRPOINT_INLINE state::state(sharded_tensor tensor)
    : held_(detail::make_counted<const sharded_tensor>(std::move(tensor))) {}

ZARRPOINT_INLINE state::state(sharded_object object)
    : held_(detail::make_counted<const sharded_object>(std::move(object))) {}

ZARRPOINT_INLINE state::state(local_only value) : held_(std::move(value)) {}

ZARRPOINT_INLINE const state* state::child(std::string_view step) const {
  if (const map* members = if_map()) {
    const auto key = detail::key_of_step(step);
    const auto found = key ? members->find(*key) : members->end();
    return found != members->end() ? &found->second : nullptr;
  }
  if (const list* elements = if_list()) {
    const auto position = detail::position_of_step(step);
    return position && *position < elements->size() ? &(*elements)[*position] : nullptr;
  }
  return nullptr;
}

ZARRPOINT_INLINE const state* state::find(std::string_view path) const {
  if (path.ends_with('/')) return nullptr;
  const state* at = this;
  while (at != nullptr && !path.empty()) at = at->child(detail::take_step(path));
  return at;
}

ZARRPOINT_INLINE bool state::erase(std::string_view path) {
  state* const there = find(path);
  if (there == nullptr) return false;
  const std::size_t slash = path.rfind('/');
  const std::string_view above = slash == path.npos ? std::string_view() : path.substr(0, slash);
  state* const parent = path.empty() ? nullptr : find(above);
  if (parent == nullptr || parent->if_list() != nullptr) {
    *there = state();
    return true;
  }
  const std::string_view step = slash == path.npos ? path : path.substr(slash + 1);
  parent->if_map()->erase(detail::key_of_step(step).value_or(""));
  return true;
}

}}  // namespace zarrpoint::v0
