// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

// What a tree that is to be saved is made of.

/// Values of Python without elements. `named_tuple` needs `save_tree_options::rich_types`.
enum class empty_value : std::uint8_t { none, dict, list, tuple, named_tuple };

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

/// Those of a tree that was read, so that it can be saved with them; of one without rich types
/// there are none. Errors: those of `to_value`; `corrupt`, naming the container, where its leaves
/// are others.
result<std::vector<tree_container>> containers_of(const tree& from);

/// A place in a tree and the value there: `{"params/kernel", tensor}`, `{{"blocks", 0}, 1.5}`,
/// `{"note", "text"}`, `{"ema", orbax::empty_value::none}`. Values are those of `leaf`, borrowed,
/// kept or copied as it says. Host and device tensors are arrays, numbers are Python's, texts are
/// `str`. A value with members is several leaves, in dicts.
struct tree_item {
  template <class T>
  tree_item(tree_path where, T&& of) : path(std::move(where)) {
    if constexpr (std::same_as<std::remove_cvref_t<T>, empty_value>) {
      empty = of;
    } else if constexpr (std::same_as<std::remove_cvref_t<T>, leaf>) {
      value = std::forward<T>(of);
    } else {
      value.emplace(path.joined('/'), std::forward<T>(of));
    }
  }

  tree_path path;
  /// Nothing: it is `empty`. Its own name counts for nothing.
  std::optional<leaf> value{};
  empty_value empty = empty_value::none;
  /// `tree_leaf::value_type` of an array, where it is not what the value and
  /// `save_tree_options::arrays` say: "jax.Array", "np.ndarray" or, of rank 0, "scalar".
  std::string value_type{};
  /// `array_facts::random_key`: the elements (uint32) are the data of a key of `jax.random`, by the
  /// generator of this name, such as "threefry2x32". It is a "jax.Array".
  std::string random_key{};
};

}}}  // namespace zarrpoint::v0::orbax

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// What a tree consists of, before anything is decided of how it is stored.

/// The order of JAX: dicts by their keys, lists by their indices.
bool comes_before(const tree_key& a, const tree_key& b);

/// The same of paths.
struct path_is_before {
  bool operator()(const std::vector<tree_key>& a, const std::vector<tree_key>& b) const;
};

/// A leaf of a tree without its elements, or the part of it that one process has.
struct described_leaf {
  std::vector<tree_key> path;
  /// Of what is empty its type, such as "None"; of an array what it is to be, or nothing.
  std::string value_type;
  bool is_empty = false;
  std::optional<std::string> text;         ///< of a text
  bool is_number = false;                  ///< an array that is a number of C++
  tensor_spec spec{};                      ///< of an array, all of it
  box at{};                                ///< what of the array is here
  std::string random_key;                  ///< see `tree_item`
  std::optional<std::string> shard_key{};  ///< of a shard

  bool is_array() const noexcept { return !is_empty && !text; }
  std::string name() const { return tree_path(path).joined('/'); }
  friend bool operator==(const described_leaf&, const described_leaf&) = default;
};

/// How processes cut an array, each of which writes its own boxes.
struct leaf_cuts {
  /// What chunks must divide along each axis, 0 where nothing cuts it; empty if nothing cuts any.
  dims unit{};
  index_t largest = 0;  ///< the elements of the largest box
};

/// The leaves of a tree and their values.
struct described_tree {
  std::vector<described_leaf> leaves;
  std::vector<std::optional<leaf>> values;  ///< one for each; nothing for what is empty
};

/// Describes items; those with members are several leaves. No element of an array is read. Errors:
/// those of `save` for a single leaf.
result<described_tree> describe_items(std::span<const tree_item> items);

/// `invalid_argument`.
error bad_tree(std::string what);

}}}}  // namespace zarrpoint::v0::orbax::detail
