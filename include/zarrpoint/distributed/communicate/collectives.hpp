// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/communicator.hpp>

namespace zarrpoint { inline namespace v0 {

// Every function here is collective: all ranks call it, in the same order. P is the number of
// ranks; each message has besides its bytes a header of a few. The exchange of a message between
// any two ranks is `any_communicator::exchange`: P - 1 messages of each rank. What a rank sends
// itself is moved, not copied.

namespace detail {

/// `"rank 3"`, or `"ranks 1, 3-5"`; `ranks` ascend.
std::string rank_list(const std::vector<int>& ranks);

}  // namespace detail

/// On `root` the messages of all ranks, by rank; elsewhere nothing. P - 1 messages.
result<std::vector<message>> gather(const any_communicator& group, message mine, int root = 0);

/// The entry of `to_each`, which `root` alone gives, for this rank. P - 1 messages.
result<message> scatter(const any_communicator& group, std::vector<message> to_each, int root = 0);

/// The message of `root`; what other ranks give is not looked at. P - 1 messages in a tree: log2(P)
/// rounds.
result<message> broadcast(const any_communicator& group, message mine, int root = 0);

/// Returns when all ranks have come here. P - 1 messages to rank 0, and as many from it.
result<void> barrier(const any_communicator& group);

namespace detail {

/// The messages as one: the number of bytes of each, then the bytes.
message pack(std::vector<message> parts);

result<std::vector<message>> unpack(bytes_view packed, std::size_t parts);

}  // namespace detail

/// The messages of all ranks, by rank, on every rank. P - 1 messages to rank 0 and P - 1 from it,
/// each with all bytes: for a moment a rank has them twice.
result<std::vector<message>> all_gather(const any_communicator& group, message mine);

namespace detail {

inline constexpr std::size_t max_error_bytes = 4096;  // of one rank
                                                      // of all

/// Empty for success; else the code and the text, shortened.
message pack_status(const result<void>& status, std::size_t max_bytes = max_error_bytes);

result<void> unpack_status(bytes_view packed);

}  // namespace detail

/// Success when all ranks have success, and else the same error on all. Its code is that of the
/// lowest rank (one that was only `cancelled`, or misses another, comes last). Its text lists the
/// ranks and what each says. Texts beyond 4 KiB are shortened, beyond 16 KiB in all left out. Where
/// the communicator fails, its error, and after it this rank's own. A group of one has its own
/// error unchanged. P - 1 messages to rank 0, and as many from it; empty ones where all is well.
result<void> agree(const any_communicator& group, result<void> mine);

/// The value of this rank when all ranks have one; else the same error on all, as above.
template <class T>
result<T> agree(const any_communicator& group, result<T> mine) {
  ZARRPOINT_CHECK(agree(group, mine ? result<void>() : result<void>(mine.failure())));
  return mine;
}

namespace detail {

/// What `root` has, a message or an error, on every rank; other ranks give nothing (`{}`).
result<message> broadcast_result(const any_communicator& group, result<message> mine, int root = 0);

}  // namespace detail

}}  // namespace zarrpoint::v0
