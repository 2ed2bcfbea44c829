// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/sharded_factory.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 {

// Walks through states. None changes a state of the caller's; each takes time in proportion to the
// state and refuses one nested deeper than `max_state_depth` with `resource_limit`. A function that
// they call takes `(const std::string& path, const state& leaf)`, or the leaf alone. Leaves are
// what is neither a map nor a list nor a hole.

namespace detail {

template <class F>
decltype(auto) call_with_leaf(F& f, const state_place& place, const state& leaf) {
  if constexpr (std::is_invocable_v<F&, const std::string&, const state&>) {
    return f(place.path(), leaf);
  } else {
    static_assert(std::is_invocable_v<F&, const state&>,
                  "zarrpoint: called with (const std::string& path, const state& leaf), or with "
                  "the leaf alone");
    return f(leaf);
  }
}

/// Calls `f(child)` for each child of a map or list, with `place` there.
template <class F>
result<void> for_each_child(const state& at, state_place& place, F&& f) {
  if (const state::map* members = at.if_map()) {
    for (const auto& [key, child] : *members)
      ZARRPOINT_CHECK(place.within(key, [&, &of = child] { return f(of); }));
  } else if (const state::list* elements = at.if_list()) {
    for (std::size_t i = 0; i < elements->size(); ++i)
      ZARRPOINT_CHECK(place.within(i, [&] { return f((*elements)[i]); }));
  }
  return {};
}

template <class F>
result<void> visit_leaves(const state& at, state_place& place, F& f) {
  if (at.is_container())
    return for_each_child(at, place,
                          [&](const state& child) { return visit_leaves(child, place, f); });
  if (at.is_hole()) return {};
  if constexpr (std::is_void_v<decltype(call_with_leaf(f, place, at))>) {
    call_with_leaf(f, place, at);
    return {};
  } else {
    return call_with_leaf(f, place, at);
  }
}

/// What is made of a leaf.
class leaf_mapper {
 public:
  /// `f` must live as long as this.
  template <class F>
  explicit leaf_mapper(F& f)
      : f_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* of, const state_place& place, const state& leaf) {
          return result<state>(call_with_leaf(*static_cast<F*>(of), place, leaf));
        }) {}

  result<state> operator()(const state_place& place, const state& leaf) const {
    return call_(f_, place, leaf);
  }

 private:
  void* f_;
  result<state> (*call_)(void* of, const state_place& place, const state& leaf);
};

result<state> map_leaves(const state& at, state_place& place, leaf_mapper f);

}  // namespace detail

/// Calls `f` for every leaf, maps in the order of their keys. `f` returns nothing or a
/// `result<void>`, whose failure ends the walk. Errors: those of `f`.
template <class F>
result<void> for_each_leaf(const state& of, F&& f) {
  detail::state_place place;
  return detail::visit_leaves(of, place, f);
}

/// The state with every leaf replaced by what `f` returns for it, a `state` or a `result<state>`.
/// Errors: those of `f`.
template <class F>
result<state> transform_leaves(const state& of, F&& f) {
  detail::state_place place;
  return detail::map_leaves(of, place, detail::leaf_mapper(f));
}

/// The parts of a state whose leaves match, and whose do not.
struct extracted {
  state matching;
  state rest;
};

namespace detail {

bool all_holes(const state::list& elements);

template <class Predicate>
result<extracted> split_state(const state& at, state_place& place, Predicate& matches) {
  extracted out;
  if (const state::map* members = at.if_map()) {
    state::map matching;
    state::map rest;
    for (const auto& [key, child] : *members) {
      ZARRPOINT_TRY(
          part, place.within(key, [&, &of = child] { return split_state(of, place, matches); }));
      if (!part.rest.is_hole() || child.is_hole())
        rest.emplace_hint(rest.end(), key, std::move(part.rest));
      if (!part.matching.is_hole())
        matching.emplace_hint(matching.end(), key, std::move(part.matching));
    }
    if (!rest.empty() || matching.empty()) out.rest = std::move(rest);
    if (!matching.empty()) out.matching = std::move(matching);
  } else if (const state::list* elements = at.if_list()) {
    state::list matching(elements->size());
    state::list rest(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      ZARRPOINT_TRY(part,
                    place.within(i, [&] { return split_state((*elements)[i], place, matches); }));
      matching[i] = std::move(part.matching);
      rest[i] = std::move(part.rest);
    }
    const bool some_match = !all_holes(matching);
    if (!some_match || !all_holes(rest)) out.rest = std::move(rest);
    if (some_match) out.matching = std::move(matching);
  } else if (!at.is_hole()) {
    (call_with_leaf(matches, place, at) ? out.matching : out.rest) = at;
  }
  return out;
}

/// A container of the kind of `like`, and of as many holes where that is a list.
state emptied(const state& like);

}  // namespace detail

/// Parts a state by its leaves, so that `merge` of the parts is the whole again: elements of lists
/// keep their positions, holes take those of the others. What has no leaves (a hole, an empty map
/// or list) is in the rest. A map or list all of whose leaves are in one part is not in the other,
/// but for the root, which both parts have.
template <class Predicate>
result<extracted> extract(const state& from, Predicate&& matches) {
  detail::state_place place;
  ZARRPOINT_TRY(out, detail::split_state(from, place, matches));
  if (out.matching.is_hole() && from.is_container()) out.matching = detail::emptied(from);
  if (out.rest.is_hole()) out.rest = detail::emptied(from);
  return std::move(out);
}

/// For `extract`: whether a leaf is of one of these kinds.
template <class... Kinds>
constexpr auto of_kind(Kinds... kinds) {
  return [kinds...](const state& leaf) { return ((leaf.kind() == kinds) || ...); };
}

/// Both states in one: maps by key, lists by position; a hole takes what the other has. Errors:
/// `invalid_argument`, naming the path, where both have something and one is not a container, and
/// for lists that differ in length.
result<state> merge(state a, const state& b);

/// The state with what it holds of sharded tensors, objects and factories reduced to requests.
result<state> without_data(const state& of);

/// The state with the key of each sharded leaf replaced by what `f(const std::string& key)`
/// returns, a `std::string` or a `result<std::string>`. Errors: those of `f`.
template <class F>
result<state> rename_keys(const state& of, F&& f) {
  const auto renamed = [&f](const state& leaf) -> result<state> {
    if (const sharded_tensor* tensor = leaf.if_tensor()) {
      ZARRPOINT_TRY(key, result<std::string>(f(tensor->key())));
      shard_metadata metadata = tensor->metadata();
      metadata.key = std::move(key);
      return state(tensor->with(std::move(metadata)));
    }
    if (const sharded_object* object = leaf.if_object()) {
      ZARRPOINT_TRY(key, result<std::string>(f(object->key())));
      return state(object->with_key(std::move(key)));
    }
    if (const sharded_factory* factory = leaf.if_factory()) {
      ZARRPOINT_TRY(key, result<std::string>(f(factory->key())));
      return state(factory->with_key(std::move(key)));
    }
    return leaf;
  };
  return transform_leaves(of, renamed);
}

/// Every key with `prefix` in front.
result<state> add_prefix(const state& of, std::string_view prefix);

/// What keys begin with, and what they shall begin with instead.
struct prefix_change {
  std::string from;
  std::string to;
};

/// Every key with another prefix. Errors: `invalid_argument` for a key without the old one.
result<state> replace_prefix(const state& of, const prefix_change& change);

/// Every key changed by the first of the changes whose prefix it has, if there is one.
result<state> map_prefixes(const state& of, std::span<const prefix_change> changes);

/// Where two states differ, in the order of their paths.
struct state_diff {
  struct mismatch {
    std::string path;
    std::string what;  ///< e.g. `"sharded tensor and value"`, `"dtype float32 and float64"`
  };
  std::vector<std::string> only_left;  ///< paths: of a map or list, its own and not those below
  std::vector<std::string> only_right;
  std::vector<mismatch> mismatches;

  bool empty() const noexcept {
    return only_left.empty() && only_right.empty() && mismatches.empty();
  }
};

/// One line for each difference; nothing for none.
std::string to_string(const state_diff& of);

namespace detail {

/// What differs between the two, or nothing.
result<std::string> difference(const sharded_tensor& a, const sharded_tensor& b,
                               memory_resource& staging);

}  // namespace detail

/// Where two states differ. Tensors are equal when all of their descriptions but the replica, and
/// the bits of their elements are: a NaN equals itself and 0 differs from -0. So are common values;
/// an integer differs from a floating-point number. Objects are compared by place and bytes,
/// factories by what they build, local values as their `==` does. A hole equals a hole only. Each
/// tensor is staged through `staging` where its memory is not the host's. Errors: those of staging
/// and of the factories, `resource_limit` for a state nested deeper than `max_state_depth`.
result<state_diff> diff(const state& a, const state& b,
                        memory_resource& staging = default_resource());

namespace detail {

/// How often what a factory builds may be, or hold, a factory again.
inline constexpr std::size_t max_factory_depth = 8;

/// A factory, without its value, and the path at which what it built took its place.
struct placed_factory {
  std::string path;
  sharded_factory factory;
};

/// Factories in the order in which they were expanded: those made by another come after it.
using factory_merges = std::vector<placed_factory>;

/// A state in which there are no factories, and what they were.
struct expanded_state {
  state tree;
  factory_merges merges;
};

/// The state with each factory replaced by what it builds, in which factories are expanded again.
/// Errors: those of the factories; `resource_limit` when they make each other more than
/// `max_factory_depth` levels deep.
result<expanded_state> apply_factories(const state& of);

/// The state with what each factory built, and a load filled, replaced by what the factory makes of
/// it: those made by others first. Errors: those of the factories; `not_found` naming the path of a
/// factory where the state has nothing.
result<state> merge_factories(state loaded, const factory_merges& merges);

}  // namespace detail

}}  // namespace zarrpoint::v0
