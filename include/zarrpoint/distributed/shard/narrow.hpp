// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/sharded.hpp>

namespace zarrpoint { inline namespace v0 {

/// Elements `[start, start + length)` along `axis` of a shard; the prepended axes do not count.
struct axis_range {
  std::size_t axis = 0;
  index_t start = 0;
  index_t length = 0;
};

/// A part of a shard as a shard, and which part of the old local tensor it holds (of rank 1 where
/// the shard has a flat range).
struct narrowed {
  shard_metadata shard;
  box part;
};

namespace detail {

/// What an extent or an offset becomes when each of its shards, `local` long, is cut to `length`.
index_t scaled(index_t global, const axis_range& to, index_t local);

}  // namespace detail

/// The shard that is left when every shard of a regular grid is cut to the same part along one
/// axis. It is nothing where a flat range lies outside of that part. The global tensor becomes
/// smaller in proportion, its grid stays. Errors: those of `shard_metadata::check`; `out_of_range`
/// for an axis that is not there and a part that leaves the shard; `invalid_argument` for an
/// irregular grid, and for a flat range cut along another axis than the first, which leaves no
/// range.
result<std::optional<narrowed>> narrow(const shard_metadata& shard, const axis_range& to);

/// The same with the value. That of the result is a view of what stays of it, to save from and to
/// load into (read-only where the value is). It is nothing where the shard has none. The result
/// keeps the value; a borrowed one must outlive it. Errors: the same, and those of `sharded::part`.
template <class T, class Handler>
auto narrow(const sharded<T, Handler>& shard, const axis_range& to)
    -> result<std::optional<sharded<typename detail::sharded_functions<T, Handler>::part_type>>> {
  ZARRPOINT_TRY(left, narrow(shard.metadata(), to));
  std::optional<sharded<typename detail::sharded_functions<T, Handler>::part_type>> out;
  if (left) {
    ZARRPOINT_TRY(made, shard.part(std::move(left->shard), left->part));
    out = std::move(made);
  }
  return out;
}
/// The same for a value of any type. Errors: the same.
result<std::optional<sharded_tensor>> narrow(const sharded_tensor& shard, const axis_range& to);

namespace detail {

/// How a local tensor is several tensors one after another along an axis, as the two weights of a
/// gated layer are. There are `parts` of them along `axis` of the local shape, prepended axes not
/// counted.
struct split_axis {
  std::size_t axis = 0;
  std::size_t parts = 2;
};

/// The parts of a shard as shards of one global tensor with `parts` times as many fragments along
/// the axis. The first parts of all processes come first in it, then all second ones, so that a
/// load may divide the processes' parts anew. A part without elements of the flat range is left
/// out. Errors: those of `shard_metadata::check`; `invalid_argument` for an axis that is not there,
/// no parts, or extents that do not divide; `unsupported` for a flat range where the parts of a
/// local tensor are not each in one piece.
result<std::vector<std::optional<narrowed>>> split_shard(const shard_metadata& fused,
                                                         const split_axis& how);

}  // namespace detail

}}  // namespace zarrpoint::v0
