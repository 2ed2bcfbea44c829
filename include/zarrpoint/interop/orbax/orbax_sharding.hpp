// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// Devices in a grid with named axes, as `jax.sharding.Mesh`.
struct device_mesh {
  dims shape;
  std::vector<std::string> axes;      ///< the names, one for each
  std::vector<std::int64_t> devices;  ///< their ids in row-major order; empty if they are not told
  /// What `jax.sharding.AxisType` each axis has: "Auto", "Explicit", "Manual"; empty if not told.
  std::vector<std::string> axis_types{};

  friend bool operator==(const device_mesh&, const device_mesh&) = default;
};

/// For each dimension of an array the axes of the mesh that cut it, the outermost first, as
/// `jax.sharding.PartitionSpec`. Dimensions that it does not reach are whole.
using partition_spec = std::vector<std::vector<std::string>>;

/// How an array lay on devices when it was saved.
struct sharding {
  std::string type;  ///< "NamedSharding", "SingleDeviceSharding" or another
  device_mesh mesh;  ///< of a `NamedSharding`, as the next
  partition_spec partition;
  std::string device;  ///< of a `SingleDeviceSharding`: "cpu:0"

  friend bool operator==(const sharding&, const sharding&) = default;
};

/// `_sharding`: the storage name of each array (`tree_leaf::storage`) with its sharding, sorted by
/// name. Errors: `corrupt`, naming the array; `resource_limit` for a mesh of more than 2^17
/// devices.
result<std::vector<std::pair<std::string, sharding>>> read_shardings(bytes_view text);

/// `PartitionSpec('x', None, ('y', 'z'))`.
std::string to_string(const partition_spec& partition);

/// The part of an array of `shape` that each device of the mesh has, in row-major order of the
/// mesh. Errors: `invalid_argument` for an axis that is not one of the mesh or cuts twice, and for
/// more entries than dimensions. A length must be a multiple of its cuts, too, as in JAX.
result<std::vector<box>> device_boxes(const device_mesh& mesh, const partition_spec& partition,
                                      const dims& shape);

/// The partition by which each device of the mesh has its box of `boxes`, an array of `shape`
/// being cut. Axes of one device cut nothing. Errors: `invalid_argument` if there is none.
result<partition_spec> find_partition(const device_mesh& mesh, const std::vector<box>& boxes,
                                      const dims& shape);

/// What Orbax tells of an array beside its elements.
struct array_facts {
  std::string name;  ///< `tree_leaf::storage`; the leaf's where `tree_store` gives it
  dims write_shape;  ///< of the block that a process wrote
  /// What the elements are the data of, for a key of `jax.random`: "threefry2x32"; empty otherwise.
  std::string random_key;
  json extra;  ///< all that `ext_metadata` has, or null
};

/// One file of `array_metadatas`, sorted by name. Errors: `corrupt`.
result<std::vector<array_facts>> read_array_facts(bytes_view text);

}}}  // namespace zarrpoint::v0::orbax
