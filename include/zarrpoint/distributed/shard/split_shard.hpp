// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/shard_metadata.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How a local tensor is several tensors one after another along an axis, as the two weights of a
/// gated layer are: `parts` of them along `axis` of the local shape, prepended axes not counted.
struct split_axis {
  std::size_t axis = 0;
  std::size_t parts = 2;
};

/// One of the tensors that a local tensor consists of.
struct shard_part {
  shard_metadata metadata;
  box data;  ///< where its elements are in the local tensor's data
};

/// The parts of a shard as shards of one global tensor with `parts` times as many fragments along
/// the axis: the first parts of all processes come first in it, then all second ones, so that a
/// load may divide the processes' parts anew. A part without elements of the flat range is left
/// out. Errors: those of `shard_metadata::check`; `invalid_argument` for an axis that is not there,
/// no parts, or extents that do not divide; `unsupported` for a flat range where the parts of a
/// local tensor are not each in one piece.
result<std::vector<std::optional<shard_part>>> split_shard(const shard_metadata& fused,
                                                           const split_axis& how);

}}}  // namespace zarrpoint::v0::detail
