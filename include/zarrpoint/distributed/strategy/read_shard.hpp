// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/strategy/jobs.hpp>

// From a stored tensor, whatever its grid, into the elements of one shard of any other.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether the shard that is asked for is one of the stored tensor. Errors: `dtype_mismatch`,
/// `shape_mismatch`.
result<void> check_request(const stored_tensor& stored, const shard_metadata& wanted, bool cast);

/// A stored tensor, and what stands for the elements that it does not have.
struct shard_reading {
  const sharded_reader& reader;
  const stored_tensor& stored;
  shard_padding padding = shard_padding::zeros;
};

/// Reads the elements of a shard, or of its flat range.
result<void> read_shard(const shard_reading& from, const shard_metadata& wanted,
                        const mutable_host_view& into);

/// The same for a part of the local value: a box of it, or of its flat range.
result<void> read_part_of_shard(const shard_reading& from, const shard_metadata& wanted,
                                const box& part, const mutable_host_view& into);

/// The same into a shard's own value, by the threads of `how`.
result<void> fill_shard(const shard_reading& from, const sharded_tensor& into, const context& how);

/// What of a stored tensor is worth reading at a time.
const dims& unit_of(const stored_tensor& stored);

}}}  // namespace zarrpoint::v0::detail
