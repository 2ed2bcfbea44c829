// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/file_blob.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include <sys/stat.h>

#include <memory>

// Places in the file system: directories, and zip files that stand for one.

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The parent of what `path` names, as a store that can be written, and the name in it.
result<stored_place> parent_place(const std::string& path, const file_store_options& how);

/// A regular file whose path is the caller's own: a link is followed, as for a directory.
result<std::unique_ptr<blob>> open_file(const std::string& path);

/// A path in two, where a part of it is a file and not a directory: `x.zip/a/b` is `a/b` in
/// `x.zip`. All of the path and nothing, where it is a file, a directory, or not there.
struct path_in_file {
  std::string file;
  std::string rest;
};
path_in_file split_at_file(const std::string& path);

/// Whether a path means a zip file, or something in one. Its name ends with ".zip" and it is not a
/// directory, or it is a file that begins like one.
bool is_zip_path(const std::string& path);

}  // namespace detail

/// The directory at `path`. To write: its parent and its name there, since a tree is built beside
/// its target and renamed. Errors: `not_found`, `invalid_argument`, `io`.
result<stored_place> directory_place(const std::string& path, const place_use& use);

namespace detail {

/// The root of the hierarchy in an archive: its own, or that of the one directory in it, when it
/// was made from outside the directory.
result<store_key> zip_root(const zip_store& archive);

/// The zip file at `path`, as what it holds: to read, the directory in it where all of it lies in
/// one; `x.zip/a` is what lies at `a` in `x.zip`. Errors: those of `zip_store::open`;
/// `invalid_argument` for what follows the file and is not a key, and to write into a zip file.
result<stored_place> zip_place(const std::string& path, const place_use& use,
                               const zip_store_options& how = {});

}  // namespace detail

}}  // namespace zarrpoint::v0
