// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// What rank 0 tells each process of a save.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What one process has to do.
struct process_part {
  std::vector<planned_array> arrays;  ///< those of which it has cells; one for each of `plan`'s
  std::vector<bool> puts_document;    ///< for each of them
  std::vector<object_id> first_objects;
  zarrpoint::detail::save_plan plan;
  std::vector<std::string> warnings;
  bool exchanges = false;  ///< whether any process sends elements to another
};

/// The document of an array as text: made once, though many processes may be told of it.
struct array_text {
  std::uint64_t zarr_format = 3;
  std::string document;
};

/// `arrays` are those of the plan, in its order; `part.arrays` is not looked at.
message encode_part(const process_part& part, std::span<const array_text* const> arrays);

result<process_part> decode_part(bytes_view from_root);

/// Scatters what rank 0 has, or its error, which all processes then have.
result<message> scatter_result(const any_communicator& group, result<std::vector<message>> all);

}}}  // namespace zarrpoint::v0::detail
