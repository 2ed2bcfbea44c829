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

/// Values of Python without elements. `named_tuple` needs `format::rich_types`.
enum class empty_value : std::uint8_t { none, dict, list, tuple, named_tuple };

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
  /// `format::arrays` say: "jax.Array", "np.ndarray" or, of rank 0, "scalar".
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
