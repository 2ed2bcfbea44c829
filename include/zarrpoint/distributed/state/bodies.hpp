// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/state/optimizer_state.hpp>
#include <zarrpoint/distributed/state/sharded_factory.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/memory/byteswap.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------------- state.hpp

ZARRPOINT_INLINE result<const state*> state::at(std::string_view path) const {
  if (const state* found = find(path)) return found;
  return error{errc::not_found, "state: there is nothing at " + detail::quoted_path(path)};
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

ZARRPOINT_INLINE state::state(std::nullptr_t) : held_(json()) {}

ZARRPOINT_INLINE state::state(const char* text) : held_(json(text)) {}

ZARRPOINT_INLINE state::state(std::string text) : held_(json(std::move(text))) {}

ZARRPOINT_INLINE state::state(std::string_view text) : held_(json(text)) {}

ZARRPOINT_INLINE state::state(sharded_tensor tensor)
    : held_(detail::make_counted<const sharded_tensor>(std::move(tensor))) {}

ZARRPOINT_INLINE state::state(sharded_object object)
    : held_(detail::make_counted<const sharded_object>(std::move(object))) {}

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

namespace detail {

ZARRPOINT_INLINE void append_step(std::string& path, std::string_view key) {
  if (!path.empty()) path += '/';
  if (key.empty()) path += '~';
  for (const char c : key) {
    if (c == '/') {
      path += "~1";
    } else if (c == '~') {
      path += "~0";
    } else {
      path += c;
    }
  }
}

ZARRPOINT_INLINE void append_step(std::string& path, std::size_t position) {
  if (!path.empty()) path += '/';
  path += std::to_string(position);
}

ZARRPOINT_INLINE std::optional<std::string> key_of_step(std::string_view step) {
  if (step == "~") return std::string();
  if (step.empty()) return std::nullopt;
  std::string key;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      key += step[i];
      continue;
    }
    if (++i == step.size() || (step[i] != '0' && step[i] != '1')) return std::nullopt;
    key += step[i] == '0' ? '~' : '/';
  }
  return key;
}

ZARRPOINT_INLINE std::optional<std::size_t> position_of_step(std::string_view step) {
  constexpr std::size_t max_digits = 18;  // more than any list has elements
  if (step.empty() || step.size() > max_digits || (step.size() > 1 && step[0] == '0'))
    return std::nullopt;
  std::size_t position = 0;
  for (const char c : step) {
    if (c < '0' || c > '9') return std::nullopt;
    position = position * 10 + static_cast<std::size_t>(c - '0');
  }
  return position;
}

ZARRPOINT_INLINE std::string_view take_step(std::string_view& path) {
  const std::size_t end = path.find('/');
  const std::string_view step = path.substr(0, end);
  path.remove_prefix(end == path.npos ? path.size() : end + 1);
  return step;
}

ZARRPOINT_INLINE std::string quoted_path(std::string_view path) {
  constexpr std::size_t max_bytes = 200;
  return '"' + printable(path, max_bytes) + '"';
}

ZARRPOINT_INLINE error state_place::failure(errc code, std::string_view what) const {
  std::string text = "state";
  if (!path_.empty()) text.append(" ").append(quoted_path(path_));
  return error{code, text.append(": ").append(what)};
}

}  // namespace detail

// ----------------------------------------------------------------------------- sharded_factory.hpp

ZARRPOINT_INLINE result<void> sharded_factory::validate() const {
  if (key_.empty()) return error{errc::invalid_argument, "a factory has no key"};
  return {};
}

ZARRPOINT_INLINE sharded_factory sharded_factory::without_data() const {
  sharded_factory out = *this;
  out.data_.reset();
  return out;
}

ZARRPOINT_INLINE sharded_factory sharded_factory::with_key(std::string key) const {
  sharded_factory out = *this;
  out.key_ = std::move(key);
  return out;
}

ZARRPOINT_INLINE sharded_factory sharded_factory::with_replica(replica_id replica) const {
  sharded_factory out = *this;
  out.replica_ = std::move(replica);
  return out;
}

ZARRPOINT_INLINE error sharded_factory::failure(const char* what) const {
  return error{errc::invalid_argument, "factory \"" + key_ + "\": " + what};
}

namespace detail {

// ----------------------------------------------------------------------------------- state_ops.hpp

ZARRPOINT_INLINE result<state> expand_state(const state& at, state_place& place, std::size_t depth,
                                            factory_merges& merges) {
  const auto expand_leaf = [&](const state& leaf) -> result<state> {
    const sharded_factory* const factory = leaf.if_factory();
    if (factory == nullptr) return leaf;
    if (depth == max_factory_depth)
      return place.failure(errc::resource_limit, "factories make factories more than " +
                                                     std::to_string(max_factory_depth) +
                                                     " levels deep");
    ZARRPOINT_CHECK(factory->validate());
    merges.push_back({place.path(), factory->without_data()});
    ZARRPOINT_TRY(built, factory->build());
    return expand_state(built, place, depth + 1, merges);
  };
  return map_leaves(at, place, leaf_mapper(expand_leaf));
}

ZARRPOINT_INLINE result<expanded_state> apply_factories(const state& of) {
  expanded_state out;
  detail::state_place place;
  ZARRPOINT_TRY(tree, detail::expand_state(of, place, 0, out.merges));
  out.tree = std::move(tree);
  return out;
}

ZARRPOINT_INLINE result<state> merge_factories(state loaded, const factory_merges& merges) {
  for (auto it = merges.rbegin(); it != merges.rend(); ++it) {
    state* const there = loaded.find(it->path);
    if (there == nullptr)
      return error{errc::not_found, "state: nothing was loaded at " +
                                        detail::quoted_path(it->path) + " for factory \"" +
                                        it->factory.key() + "\""};
    ZARRPOINT_TRY(merged, it->factory.merge(std::exchange(*there, state())));
    *there = std::move(merged);
  }
  return loaded;
}

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

ZARRPOINT_INLINE std::string to_string(const state_diff& of) {
  std::string text;
  for (const std::string& path : of.only_left) text += "only left: \"" + path + "\"\n";
  for (const std::string& path : of.only_right) text += "only right: \"" + path + "\"\n";
  for (const state_diff::mismatch& m : of.mismatches)
    text += "differ: \"" + m.path + "\": " + m.what + "\n";
  return text;
}

namespace detail {

/// Of common values, which are scalars: of one kind, and doubles by their bits.
ZARRPOINT_INLINE bool same_scalar(const json& a, const json& b) {
  const double* const left = a.if_double();
  const double* const right = b.if_double();
  if (left == nullptr || right == nullptr) return a == b;
  return std::bit_cast<std::uint64_t>(*left) == std::bit_cast<std::uint64_t>(*right);
}

ZARRPOINT_INLINE result<std::string> difference(const sharded_tensor& a, const sharded_tensor& b,
                                                memory_resource& staging) {
  const shard_metadata& left = a.metadata();
  shard_metadata right = b.metadata();
  const auto both = [](const char* what, const auto& of_a, const auto& of_b) {
    return std::string(what) + " " + std::string(to_string(of_a)) + " and " +
           std::string(to_string(of_b));
  };
  if (left.key != right.key) return "key \"" + left.key + "\" and \"" + right.key + "\"";
  if (left.type != right.type) return both("dtype", left.type, right.type);
  if (left.data_shape() != right.data_shape())
    return both("shape", left.data_shape(), right.data_shape());
  if (left.global_shape != right.global_shape)
    return both("global shape", left.global_shape, right.global_shape);
  if (left.global_offset != right.global_offset)
    return both("global offset", left.global_offset, right.global_offset);
  right.replica = left.replica;  // it is another's copy, of the same elements
  if (left != right) return std::string("other sharding");
  if (a.has_data() != b.has_data()) return std::string("only one has a value");
  if (!a.has_data()) return std::string();
  ZARRPOINT_CHECK(a.validate());
  ZARRPOINT_CHECK(b.validate());
  ZARRPOINT_TRY(of_a, a.stage(staging));
  ZARRPOINT_TRY(of_b, b.stage(staging));
  return same_bits(of_a.view, of_b.view) ? std::string() : std::string("other elements");
}

class state_comparison {
 public:
  explicit state_comparison(memory_resource& staging) : staging_(&staging) {}

  result<void> compare(const state& a, const state& b) {
    if (a.is_hole() || b.is_hole()) {
      if (!a.is_hole()) only_in(found_.only_left);
      if (!b.is_hole()) only_in(found_.only_right);
      return {};
    }
    if (a.kind() != b.kind()) {
      differ(std::string(to_string(a.kind())) + " and " + std::string(to_string(b.kind())));
      return {};
    }
    switch (a.kind()) {
      case state_kind::map: return compare_maps(*a.if_map(), *b.if_map());
      case state_kind::list: return compare_lists(*a.if_list(), *b.if_list());
      case state_kind::factory: return compare_factories(*a.if_factory(), *b.if_factory());
      case state_kind::tensor: {
        ZARRPOINT_TRY(what, difference(*a.if_tensor(), *b.if_tensor(), *staging_));
        if (!what.empty()) differ(std::move(what));
        return {};
      }
      case state_kind::object: compare_objects(*a.if_object(), *b.if_object()); return {};
      case state_kind::value:
        if (!same_scalar(*a.if_value(), *b.if_value())) differ("other value");
        return {};
      case state_kind::local:
        if (!(*a.if_local() == *b.if_local())) differ("other local value");
        return {};
      case state_kind::hole: break;
    }
    return {};
  }

  state_diff take() { return std::move(found_); }

 private:
  void only_in(std::vector<std::string>& side) { side.push_back(place_.path()); }
  void differ(std::string what) { found_.mismatches.push_back({place_.path(), std::move(what)}); }

  template <class Step>
  result<void> only_in(std::vector<std::string>& side, const Step& step) {
    return place_.within(step, [&]() -> result<void> {
      only_in(side);
      return {};
    });
  }

  result<void> compare_maps(const state::map& a, const state::map& b) {
    auto left = a.begin();
    auto right = b.begin();
    while (left != a.end() || right != b.end()) {
      if (right == b.end() || (left != a.end() && left->first < right->first)) {
        ZARRPOINT_CHECK(only_in(found_.only_left, (left++)->first));
      } else if (left == a.end() || right->first < left->first) {
        ZARRPOINT_CHECK(only_in(found_.only_right, (right++)->first));
      } else {
        ZARRPOINT_CHECK(
            place_.within(left->first, [&] { return compare(left->second, right->second); }));
        ++left;
        ++right;
      }
    }
    return {};
  }

  result<void> compare_lists(const state::list& a, const state::list& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (i >= b.size()) {
        ZARRPOINT_CHECK(only_in(found_.only_left, i));
      } else if (i >= a.size()) {
        ZARRPOINT_CHECK(only_in(found_.only_right, i));
      } else {
        ZARRPOINT_CHECK(place_.within(i, [&] { return compare(a[i], b[i]); }));
      }
    }
    return {};
  }

  void compare_objects(const sharded_object& a, const sharded_object& b) {
    if (!(a.id() == b.id())) {
      differ("\"" + a.unique_key() + "\" and \"" + b.unique_key() + "\"");
    } else if (a.has_data() != b.has_data()) {
      differ("only one has a value");
    } else if (!std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(),
                           b.bytes().end())) {
      differ("other bytes");
    }
  }

  /// Two factories differ in what they build.
  result<void> compare_factories(const sharded_factory& a, const sharded_factory& b) {
    if (a.key() != b.key()) {
      differ("key \"" + a.key() + "\" and \"" + b.key() + "\"");
    } else if (a.has_data() != b.has_data()) {
      differ("only one has a value");
    } else if (a.has_data()) {
      if (factory_depth_ == max_factory_depth)
        return place_.failure(errc::resource_limit,
                              "factories make factories too many levels deep");
      ZARRPOINT_TRY(of_a, a.build());
      ZARRPOINT_TRY(of_b, b.build());
      ++factory_depth_;
      result<void> done = compare(of_a, of_b);
      --factory_depth_;
      return done;
    }
    return {};
  }

  memory_resource* staging_;
  state_place place_;
  state_diff found_;
  std::size_t factory_depth_ = 0;
};

}  // namespace detail

ZARRPOINT_INLINE result<state_diff> diff(const state& a, const state& b, memory_resource& staging) {
  detail::state_comparison comparison(staging);
  ZARRPOINT_CHECK(comparison.compare(a, b));
  return comparison.take();
}

// ----------------------------------------------------------------------------- optimizer_state.hpp

ZARRPOINT_INLINE result<sharded_parameters> sharded_parameters::of_model(
    const state& model, std::span<const std::string> paths) {
  sharded_parameters out;
  for (const std::string& path : paths) {
    ZARRPOINT_TRY(found, model.at(path));
    ZARRPOINT_CHECK(out.add(static_cast<index_t>(out.by_id_.size()), *found));
  }
  return out;
}

ZARRPOINT_INLINE result<void> sharded_parameters::add(index_t id, state parameter) {
  if (parameter.if_tensor() == nullptr && parameter.if_factory() == nullptr)
    return error{errc::invalid_argument, "parameter " + std::to_string(id) + " is a " +
                                             std::string(to_string(parameter.kind())) +
                                             ", wanted a sharded tensor or a factory"};
  if (!by_id_.emplace(id, std::move(parameter)).second)
    return error{errc::invalid_argument, "parameter " + std::to_string(id) + " is there already"};
  return {};
}

ZARRPOINT_INLINE result<const state*> sharded_parameters::at(index_t id) const {
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) return &found->second;
  return error{errc::not_found, "no parameter of the model has the number " + std::to_string(id) +
                                    "; there are " + std::to_string(by_id_.size())};
}

ZARRPOINT_INLINE std::string optimizer_key(std::string_view name, std::string_view parameter_key) {
  return std::string("optimizer.state.").append(name).append(".").append(parameter_key);
}

namespace detail {

ZARRPOINT_INLINE result<void> check_optimizer_value(const shard_metadata& shard,
                                                    const tensor_spec& value) {
  if (value.shape == shard.data_shape()) return {};
  return error{errc::shape_mismatch, "\"" + shard.key + "\": the value has shape " +
                                         to_string(value.shape) + ", that of its parameter " +
                                         to_string(shard.data_shape())};
}

}  // namespace detail

ZARRPOINT_INLINE result<void> optimizer_state::add_group(state::map options,
                                                         std::vector<index_t> parameters) {
  for (const index_t id : parameters) ZARRPOINT_CHECK(parameters_.at(id));
  if (!options.emplace("params", local_only(std::move(parameters))).second)
    return error{errc::invalid_argument,
                 "the option \"params\" is reserved: it holds the numbers of a group's parameters"};
  groups_.emplace_back(std::move(options));
  return {};
}

ZARRPOINT_INLINE result<void> optimizer_state::put(index_t id, const std::string& name,
                                                   state made) {
  state& of = states_.try_emplace(std::to_string(id), state::map{}).first->second;
  if (of.if_map()->emplace(name, std::move(made)).second) return {};
  return error{errc::invalid_argument,
               "parameter " + std::to_string(id) + " has a state \"" + name + "\" already"};
}

ZARRPOINT_INLINE result<shard_metadata> bucket_shard(std::string key, const dtype& type,
                                                     const bucket_share& share) {
  if (share.elements < 0 || share.ranks < 1 || share.multiple < 1 || share.rank < 0 ||
      share.rank >= share.ranks)
    return error{errc::invalid_argument, "bucket \"" + key + "\": share " +
                                             std::to_string(share.rank) + " of " +
                                             std::to_string(share.ranks) + ", in multiples of " +
                                             std::to_string(share.multiple) + ", of " +
                                             std::to_string(share.elements) + " elements"};
  const index_t units = ceil_div(ceil_div(share.elements, share.ranks), share.multiple);
  ZARRPOINT_TRY(length, checked_mul(units, share.multiple).at("bucket \"" + key + "\""));
  return from_rank_offsets(
      std::move(key), {type, {length}},
      {.offsets = {{0, share.rank, share.ranks}}, .allow_shape_mismatch = true});
}

// ---------------------------------------------------------------------------------- state_json.hpp

namespace detail {

ZARRPOINT_INLINE json escaped(std::string kind) {
  json out;
  out.set("$", std::move(kind));
  return out;
}

ZARRPOINT_INLINE json value_to_json(const json& value) {
  if (const double* const number = value.if_double();
      number != nullptr && !std::isfinite(*number)) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr int top = 60;
    const auto bits = std::bit_cast<std::uint64_t>(*number);
    std::string text;
    for (int shift = top; shift >= 0; shift -= 4) text += digits[(bits >> shift) & 15];
    json out = escaped("float64");
    out.set("bits", std::move(text));
    return out;
  }
  if (const std::string* text = value.if_string(); text != nullptr && !is_utf8(*text)) {
    json out = escaped("text");
    out.set("base64", detail::to_base64(as_bytes(*text)));
    return out;
  }
  return value;
}

ZARRPOINT_INLINE result<json> state_to_json(const state& of, state_place& place) {
  if (const state::map* members = of.if_map()) {
    json::object out;
    out.reserve(members->size());
    for (const auto& [key, child] : *members) {
      if (child.if_local() != nullptr) continue;
      if (!is_utf8(key))
        return place.failure(errc::invalid_argument, "a key that is not UTF-8 cannot be stored");
      ZARRPOINT_TRY(
          made, place.within(key, [&, &of_key = child] { return state_to_json(of_key, place); }));
      out.push_back({key.starts_with('$') ? "$" + key : key, std::move(made)});
    }
    return json(std::move(out));
  }
  if (const state::list* elements = of.if_list()) {
    json::array out;
    out.reserve(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      ZARRPOINT_TRY(made, place.within(i, [&] { return state_to_json((*elements)[i], place); }));
      out.push_back(std::move(made));
    }
    return json(std::move(out));
  }
  if (const json* value = of.if_value()) return value_to_json(*value);
  if (of.is_hole() || of.if_local() != nullptr) return escaped("hole");
  return place.failure(errc::invalid_argument, "a " + std::string(to_string(of.kind())) +
                                                   " is not part of the common state");
}

ZARRPOINT_INLINE std::optional<double> double_of_bits(std::string_view text) {
  constexpr std::size_t digits = 16;
  if (text.size() != digits) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c < 'a' || c > 'f')) return std::nullopt;
    bits = bits << 4 | static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return std::bit_cast<double>(bits);
}

/// A tensor whose elements stand in the document: numbers and truth values.
ZARRPOINT_INLINE std::optional<tensor> tensor_of_document(const json& from) {
  const std::string* const type = from.find_string("dtype");
  const json::array* const shape = from.find_array("shape");
  const std::string* const coded = from.find_string("base64");
  if (from.if_object()->size() != 4 || type == nullptr || shape == nullptr ||
      shape->size() > max_rank || coded == nullptr)
    return std::nullopt;
  const auto known = parse_dtype(*type);
  if (!known || known->is_variable() || known->is_below_byte() || known->record() != nullptr)
    return std::nullopt;
  tensor_spec spec{*known, {}};
  for (const json& extent : *shape) {
    const auto number = extent.to_int64();
    if (!number || *number < 0) return std::nullopt;
    spec.shape.push_back(*number);
  }
  const auto size = byte_count(spec);
  if (!size || base64_decoded_size(*coded) != *size) return std::nullopt;
  auto out = tensor::make(spec);
  if (!out) return std::nullopt;
  const mutable_bytes elements(out->mutable_view().data, static_cast<std::size_t>(*size));
  if (!base64_decode(*coded, elements.data())) return std::nullopt;
  if (spec.type == dtype(dtype_kind::bool_)) {
    for (const std::byte each : elements)
      if (each > std::byte{1}) return std::nullopt;
  }
  const std::size_t scalar = spec.type.scalar_size();
  if (native_endian != endian::little && scalar > 1) byteswap_elements(elements, scalar);
  return *std::move(out);
}

/// Of an object with the member "$".
ZARRPOINT_INLINE result<state> state_of_escape(const json& from, const state_place& place) {
  const std::string* const kind = from.find("$")->if_string();
  const std::size_t members = from.if_object()->size();
  const auto text_at = [&](const char* key) -> const std::string* {
    return members == 2 ? from.find_string(key) : nullptr;
  };
  if (kind != nullptr && *kind == "hole" && members == 1) return state();
  if (kind != nullptr && *kind == "float64") {
    const std::string* const bits = text_at("bits");
    if (const auto number = bits != nullptr ? double_of_bits(*bits) : std::nullopt)
      return state(*number);
  }
  if (kind != nullptr && *kind == "text") {
    const std::string* const coded = text_at("base64");
    if (auto text = coded != nullptr ? detail::from_base64(*coded) : std::nullopt)
      return state(std::move(*text));
  }
  if (kind != nullptr && *kind == "tensor") {
    // What is in a document is small: its text has been read already.
    if (auto made = tensor_of_document(from)) {
      const std::string key = place.path().empty() ? "tensor" : place.path();
      if (auto whole = shard(key, *std::move(made))) return state(*whole);
    }
  }
  return place.failure(errc::corrupt, "an object has a member \"$\" with an unknown value");
}

ZARRPOINT_INLINE result<state> json_to_state(const json& from, state_place& place) {
  if (const json::object* members = from.if_object()) {
    if (from.find("$") != nullptr) return state_of_escape(from, place);
    state::map out;
    for (const json::member& m : *members) {
      const std::string_view key = std::string_view(m.key).substr(m.key.starts_with('$') ? 1 : 0);
      if (m.key.starts_with('$') && !key.starts_with('$'))
        return place.failure(errc::corrupt,
                             "the key " + in_quotes(m.key) +
                                 " is not known: keys that begin with \"$\" are reserved");
      ZARRPOINT_TRY(made, place.within(key, [&] { return json_to_state(m.value, place); }));
      if (!out.try_emplace(std::string(key), std::move(made)).second)
        return place.failure(errc::corrupt, "the key " + in_quotes(m.key) + " is there twice");
    }
    return state(std::move(out));
  }
  if (const json::array* elements = from.if_array()) {
    state::list out;
    out.reserve(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
      ZARRPOINT_TRY(made, place.within(i, [&] { return json_to_state((*elements)[i], place); }));
      out.push_back(std::move(made));
    }
    return state(std::move(out));
  }
  if (const std::string* text = from.if_string()) return state(*text);
  if (const bool* truth = from.if_bool()) return state(*truth);
  if (const auto number = from.to_int64()) return state(*number);
  if (const auto number = from.to_uint64()) return state(*number);
  if (const auto number = from.to_double()) return state(*number);
  return state(nullptr);
}

}  // namespace detail

ZARRPOINT_INLINE result<json> to_json(const state& of) {
  detail::state_place place;
  return detail::state_to_json(of, place);
}

namespace detail {

ZARRPOINT_INLINE result<state> state_from_json(const json& from) {
  detail::state_place place;
  return detail::json_to_state(from, place);
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/shard/part_bodies.hpp>
#endif
