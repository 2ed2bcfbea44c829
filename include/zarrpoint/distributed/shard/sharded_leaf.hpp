// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/replica_id.hpp>

#include <concepts>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the leaves of a state that are stored in parts share, be they tensors, objects or
/// factories of them: copyable handles with
///
/// - `key()`: the name under which the checkpoint knows the whole, whatever its place in the state;
/// - `replica()`: which copy this is;
/// - `validate()`: whether it can be saved or loaded as it is described;
/// - `without_data()`: the same description without a value, as a request to load it.
template <class T>
concept sharded_leaf = std::copyable<T> && requires(const T& leaf) {
  { leaf.key() } -> std::same_as<const std::string&>;
  { leaf.replica() } -> std::same_as<const replica_id&>;
  { leaf.validate() } -> std::same_as<result<void>>;
  { leaf.without_data() } -> std::same_as<T>;
};

}}}  // namespace zarrpoint::v0::detail
