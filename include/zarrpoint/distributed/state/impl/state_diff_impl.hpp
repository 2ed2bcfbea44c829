// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/same_bits.hpp>
#include <zarrpoint/distributed/state/expand_factories.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_diff.hpp>
#include <zarrpoint/handler/staging.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE bool state_diff::empty() const noexcept {
  return only_left.empty() && only_right.empty() && mismatches.empty();
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
ZARRPOINT_INLINE bool same_scalar(const node& a, const node& b) {
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
        return place_.failure(errc::resource_limit, "factories made by factories too deep");
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

}}  // namespace zarrpoint::v0
