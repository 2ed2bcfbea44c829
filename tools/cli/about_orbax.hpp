// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What Orbax tells of a checkpoint beside its arrays.

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/file/file_options.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// What was chosen in the directory, the items of its step, what `_CHECKPOINT_METADATA` has, the
/// version of the database, and of each leaf its kind and sharding. It is as `inspect --json`
/// writes it. Null for a path that is not one of Orbax's. `memory` is `limits::memory`.
zp::result<zp::json> about_orbax(const std::string& path, zp::link_scope links,
                                 std::uint64_t memory);

/// The same as lines of a name and a text, without the leaves' kinds. Of a node that is not the
/// root it is only what is told of the leaves in it.
zp::json::object orbax_lines(const zp::json& about, std::string_view node);

}  // namespace cli
