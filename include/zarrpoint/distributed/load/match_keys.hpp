// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

// Strictness: what is asked for against what is stored.

namespace zarrpoint { inline namespace v0 { namespace detail {

using key_set = std::set<std::string, std::less<>>;

/// Keys that only one side has.
struct key_mismatch {
  key_set unexpected;  ///< asked for by this process, not stored
  key_set missing;     ///< stored, asked for by no process
};

/// `"{'a', 'b'}"`, as Megatron-Core's messages have it.
std::string in_braces(const key_set& keys);

/// A heading for each of the two that is not empty.
std::string to_string(const key_mismatch& keys);

/// All keys of a checkpoint, sorted, each once.
std::vector<std::string_view> stored_keys(const sharded_reader& reader);

/// Compares the keys that this process asks for with those that are stored. For modes that speak of
/// missing keys it compares those of all processes, which send each other a bit for each stored
/// key.
result<key_mismatch> match_keys(const key_set& asked, const std::vector<std::string_view>& stored,
                                strictness mode, const any_communicator& ranks);

}}}  // namespace zarrpoint::v0::detail
