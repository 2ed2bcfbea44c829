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

/// A shard made narrower, and which part of the old local tensor it holds (of rank 1 where the
/// shard has a flat range).
struct narrowed {
  shard_metadata shard;
  box part;
};

namespace detail {

/// What an extent or an offset becomes when each of its shards, `local` long, is cut to `length`.
index_t scaled(index_t global, const axis_range& to, index_t local);

}  // namespace detail

/// The shard that is left when every shard of a regular grid is cut to the same part along one
/// axis; nothing where a flat range lies outside of that part. The global tensor becomes smaller
/// in proportion, its grid stays. Errors: those of `shard_metadata::check`; `out_of_range` for an
/// axis that is not there and a part that leaves the shard; `invalid_argument` for an irregular
/// grid, and for a flat range cut along another axis than the first, which leaves no range.
result<std::optional<narrowed>> narrow(const shard_metadata& shard, const axis_range& to);

/// The same with the value: that of the result is a view of what stays of it, to save from and to
/// load into (read-only where the value is), or nothing where the shard has none. The result keeps
/// the value; a borrowed one must outlive it. Errors: the same, and those of `sharded::part`.
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

}}  // namespace zarrpoint::v0
