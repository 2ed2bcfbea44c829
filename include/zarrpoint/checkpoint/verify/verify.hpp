// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What is known of stored data once all of it was read.
enum class verdict : std::uint8_t {
  ok,            ///< all was read, and nothing is wrong
  not_verified,  ///< nothing wrong was found, but some of it could not be checked
  faulty,        ///< bytes are missing, or are not those that were saved
};

/// "ok", "not verified" or "faulty".
std::string_view to_string(verdict of) noexcept;

/// One thing that is wrong, or that could not be checked.
struct verify_failure {
  std::string leaf;             ///< or the group whose document it is; empty for the root
  std::string file;             ///< of the object or document, or of the array for all of it
  std::string key;              ///< of the object, below the array; empty for all of the array
  std::optional<dims> chunk{};  ///< the inner chunk of a shard, by its place in the shard
  bool is_fault = true;         ///< false: it could not be checked
  error what;
};

/// Of one leaf.
struct leaf_verification {
  std::string name;
  verdict result = verdict::ok;
  std::uint64_t chunks = 0;  ///< that were read and found right; with shards, inner chunks
  std::uint64_t bytes = 0;   ///< of the elements of those chunks, as they are in memory
};

/// What `verify` found.
struct verify_report {
  std::vector<leaf_verification> leaves;  ///< sorted by name
  std::vector<verify_failure> failures;   ///< at most `verify_options::max_failures`
  std::uint64_t failure_count = 0;        ///< all of them, those beyond that number too
  /// Of the documents that other programs read; `not_verified` for attributes that were edited.
  verdict documents = verdict::ok;

  /// The worst of all verdicts; `not_verified` where no chunk at all was read.
  verdict result() const noexcept;
};

/// How `verify` reports.
struct verify_options {
  std::size_t max_failures = 10'000;  ///< of which the texts are kept
};

/// Reads every chunk of every leaf. In a checkpoint of ours each object that the commit names must
/// be there, with its size and the checksum of each inner chunk. Elsewhere each stored object must
/// decode, with the checksums that its codecs and shard indexes have. The store is listed for them,
/// or, where it cannot list, asked for each of up to 2^20. A leaf is `not_verified` in each of
/// these cases:
/// - this build cannot read it: its codec, its data type, the budget `limits::memory`;
/// - it has more objects than that, in a store that cannot list;
/// - others wrote it, and no chunk of it is stored;
/// - others wrote it, and its objects have the keys of chunks in another encoding than its metadata
///   say.
///
/// Takes some 64 MiB at a time, or a quarter of `limits::memory` if that is less, and an inner
/// chunk at least. In a checkpoint of ours the documents that other programs read are compared with
/// the commit document. Where the attributes alone differ, another program may have edited them,
/// and they are `not_verified` until `seal` accepts them. Elsewhere consolidated metadata are
/// compared with the nodes' own documents. The stop token of the checkpoint's context is asked
/// before each document, object and inner chunk, as a hostile document may name 2^62 of them. Where
/// three quarters of the leaves have other chunks than the commit document names, the report says
/// that it may be of another checkpoint. Errors: `cancelled`; `replaced` by another save meanwhile,
/// with the first thing that was gone. For that the place is opened once more where anything was
/// wrong. What is wrong with the data is in the report.
result<verify_report> verify(const checkpoint& of, const verify_options& options = {});

}}  // namespace zarrpoint::v0
