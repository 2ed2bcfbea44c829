// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// What a place in a tree is.
enum class value_kind : std::uint8_t { leaf, dict, list, tuple, named_tuple };

/// A tree as Python had it. Members stand in the order of the indices; of a dict, in that of their
/// names; of a named tuple, in that of its fields.
struct tree_value {
  value_kind kind = value_kind::leaf;
  /// Of a leaf `tree_leaf::value_type`, so that "None" is one; of a named tuple its class with its
  /// module, "optax.ScaleByAdamState".
  std::string type;
  std::string name;  ///< of a leaf: `tree_leaf::name`
  std::vector<std::pair<std::string, tree_value>> members;

  friend bool operator==(const tree_value&, const tree_value&) = default;
};

/// One step of a path in braces: a text is a key of a dict, a number an index of a list or tuple.
struct tree_step : tree_key {
  template <class T>
    requires(std::convertible_to<T, std::string_view>)
  tree_step(const T& key)  // NOLINT(google-explicit-constructor)
      : tree_key{std::string(std::string_view(key)), false} {}
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  tree_step(T index)  // NOLINT(google-explicit-constructor)
      : tree_key{std::to_string(index), true} {}
};

/// Where a leaf is in its tree: `{"params", "blocks", 0, "w"}`, a text such as "params/kernel"
/// whose parts are keys of dicts, or what `tree_leaf::path` has. Empty for a tree that is one leaf.
class tree_path {
 public:
  tree_path() = default;
  tree_path(std::initializer_list<tree_step> steps) : keys_(steps.begin(), steps.end()) {}
  tree_path(std::vector<tree_key> keys)  // NOLINT(google-explicit-constructor)
      : keys_(std::move(keys)) {}
  template <class T>
    requires(std::convertible_to<T, std::string_view>)
  tree_path(const T& text) {  // NOLINT(google-explicit-constructor)
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t slash = rest.find('/');
      keys_.push_back({std::string(rest.substr(0, slash)), false});
      // What ends with a '/' has an empty key behind it, which is refused.
      if (slash + 1 == rest.size()) keys_.emplace_back();
      rest.remove_prefix(slash == rest.npos ? rest.size() : slash + 1);
    }
  }

  const std::vector<tree_key>& keys() const noexcept { return keys_; }
  /// The texts joined by `separator`: '/' for the leaf's name, '.' for where Orbax keeps it.
  std::string joined(char separator) const;
  friend bool operator==(const tree_path&, const tree_path&) = default;

 private:
  std::vector<tree_key> keys_;
};

/// A tuple or named tuple of Python in a tree, with what lies beneath it. Those that are empty are
/// an `empty_value`.
struct tree_container {
  /// Where it is. Of a tree that is itself a tuple: `{.path = ""}`; in `{{.path = {}}}` some
  /// compilers see no container.
  tree_path path{};
  value_kind kind = value_kind::tuple;
  /// Of a named tuple its class with its module, "optax.ScaleByAdamState", and its fields in their
  /// order, which are keys of paths. Names of Python, with letters of ASCII only.
  std::string type{};
  std::vector<std::string> fields{};

  friend bool operator==(const tree_container&, const tree_container&) = default;
};

/// The tree with its containers. Orbax keeps tuples, named tuples and their classes with
/// `support_rich_types` only; otherwise tuples are lists, and named tuples and objects with
/// attributes are dicts, here as for Orbax itself. Errors: `corrupt`; `resource_limit` for more
/// than 64 levels.
result<tree_value> to_value(const tree& from);

/// A leaf as a value of Python: `bool`, `int` (integers), `float` (doubles) and `str` for arrays of
/// rank 0 in a tree that is opened as a store. Errors: `invalid_argument` for other arrays; those
/// of `array::open` and `array::read`.
result<json> read_scalar(const any_store& tree, std::string_view name);

namespace detail {

/// The most levels of a tree: `to_value` calls itself for each.
inline constexpr std::size_t most_levels = 64;

}  // namespace detail

}}}  // namespace zarrpoint::v0::orbax
