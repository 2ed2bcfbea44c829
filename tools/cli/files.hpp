// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Single files by the library's file store.

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// What stands at a path, symbolic links followed.
enum class path_kind : std::uint8_t { nothing, file, directory, other };
path_kind kind_of(const std::string& path);

/// A file for reading, symbolic links followed. Errors: `not_found`, `io`.
zp::result<std::shared_ptr<const zp::blob>> open_file(const std::string& path);

/// What `--follow-links` says of links in a directory that is given.
zp::link_scope& followed_links();

/// Whether a file of a directory that is given may be read, as `followed_links` says. Errors: `io`
/// for a link that is not followed.
zp::result<void> check_links(const std::string& folder, std::string_view name);

/// Errors: `already_exists` when something is at the path and may not be replaced.
zp::result<void> check_free(const std::string& path, bool overwrite);

/// A file that appears under its name, whole, when it is finished. Errors: `already_exists` unless
/// `overwrite` is set, and then, too, when something other than a file is there; `io`.
zp::result<std::unique_ptr<zp::blob_writer>> create_file(const std::string& path, bool overwrite);

/// The last part of a path, and the same without its extension.
std::string file_name(std::string_view path);
std::string file_stem(std::string_view path);

}  // namespace cli
