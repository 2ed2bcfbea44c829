// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is said of a place that is nothing this command reads.

#include <zarrpoint/core/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// What stands in place of a file that was to be fetched, by how it begins, and what to do; nothing
/// for all else.
std::optional<zp::error> stand_in(const std::string& path, std::string_view head);

/// What a directory without a hierarchy looks like, and what to name instead; nothing where that is
/// not known.
std::optional<zp::error> look_of_directory(const std::string& path);

}  // namespace cli
