// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_shared_tree.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

// What processes tell each other when they have written.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// Numbers of arrays, by where they are stored.
using object_counts = std::map<std::string, std::uint64_t, std::less<>>;

/// Of each process how many objects of each array it writes.
std::vector<object_counts> wanted_objects(const shared_tree& shared, const tree_plan& plan);

/// What a process tells of the objects that it wrote.
message encode_receipt(const v0::detail::digests_of_arrays& written);

/// Holds what a process wrote against what it was to write, and adds its bytes to `stored`: what
/// was not written must not become a checkpoint, whatever the writers said. Errors: `corrupt`.
result<void> read_receipt(bytes_view receipt, object_counts wanted, object_counts& stored);

/// What rank 0 tells of the save.
message encode_report(const save_report& report);

/// That; an empty report from an empty text. Errors: `corrupt`.
result<save_report> decode_report(bytes_view told);

}}}}  // namespace zarrpoint::v0::orbax::detail
