// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/file_blob.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/stored_place.hpp>
#include <zarrpoint/store/zip/zip_file.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A path in two: the directory, and the name in it.
ZARRPOINT_INLINE std::pair<std::string, std::string> split_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {".", std::string(path)};
  return {std::string(path.substr(0, std::max<std::size_t>(slash, 1))),
          std::string(path.substr(slash + 1))};
}

ZARRPOINT_INLINE result<stored_place> parent_place(const std::string& path,
                                                   const file_store_options& how) {
  const auto [parent, name] = split_path(path);
  ZARRPOINT_TRY(key, store_key::parse(name));
  if (key.is_root())
    return error{errc::invalid_argument, "\"" + path + "\" is not the path of a checkpoint"};
  ZARRPOINT_TRY(store, file_store::open(parent, how));
  return stored_place{std::move(store), std::move(key)};
}

/// Removes what killed writers left beside the file at `path`: see `remove_abandoned`.
ZARRPOINT_INLINE std::vector<std::string> remove_abandoned_beside(const std::string& path) {
  const std::string parent = split_path(path).first;
  const unique_fd directory(open_at(AT_FDCWD, parent.c_str(), O_RDONLY | O_DIRECTORY));
  if (!directory) return {};
  return remove_abandoned(directory.get(), parent.ends_with('/') ? parent : parent + '/');
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_file(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return error{errc::invalid_argument, "open \"" + path + "\": not a path"};
  unique_fd fd(retry_interrupted(
      [&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  struct ::stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return system_error("open", path, errno);
  if (!S_ISREG(info.st_mode)) return error{errc::io, "open " + path + ": it is not a regular file"};
  return detail::make_owned<blob, file_blob>(std::move(fd), info, path);
}

ZARRPOINT_INLINE path_in_file split_at_file(const std::string& path) {
  struct ::stat info {};
  std::string_view file = path;
  while (::stat(std::string(file).c_str(), &info) != 0) {
    if (errno != ENOTDIR) return {path, {}};
    // A slash at the end alone makes a file none.
    const bool is_ended = file.ends_with('/');
    const std::size_t end = is_ended ? file.find_last_not_of('/') + 1 : file.rfind('/');
    if (end == file.npos) return {path, {}};
    file = file.substr(0, end);
  }
  if (!S_ISREG(info.st_mode)) return {path, {}};
  std::string_view rest = std::string_view(path).substr(file.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  return {std::string(file), std::string(rest)};
}

ZARRPOINT_INLINE bool is_zip_path(const std::string& path) {
  struct ::stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return false;
  const std::string name = split_at_file(path).file;
  if (std::string_view(name).ends_with(".zip")) return true;
  if (::stat(name.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const auto file = open_file(name);
  std::array<std::byte, 4> mark{};
  return file && (*file)->size() >= mark.size() && (*file)->read(0, mark) &&
         as_text(bytes_view(mark)) == "PK\x03\x04";
}

template <class Store>
result<bool> has_root_document(const Store& store, const store_key& at) {
  for (const std::string_view name : {"zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(key, at.child(name));
    ZARRPOINT_TRY(object, store.open(key));
    if (object != nullptr) return true;
  }
  return false;
}

/// The root of the hierarchy in an archive: its own, or that of the one directory in it, when it
/// was made from outside the directory.
ZARRPOINT_INLINE result<store_key> zip_root(const zip_store& archive) {
  const store_key root = store_key::root();
  ZARRPOINT_TRY(at_root, has_root_document(archive, root));
  if (at_root) return root;
  ZARRPOINT_TRY(children, archive.list(root));
  if (children.size() != 1 || !children[0].is_prefix) return root;
  ZARRPOINT_TRY(inner, root.child(children[0].name));
  ZARRPOINT_TRY(beneath, has_root_document(archive, inner));
  return beneath ? inner : root;
}

}  // namespace detail

ZARRPOINT_INLINE result<stored_place> directory_place(const std::string& path,
                                                      const place_use& use) {
  if (use.write) return detail::parent_place(path, {.sync = use.sync});
  ZARRPOINT_TRY(store, file_store::open(path, {.read_only = true, .follow_links = use.links}));
  return stored_place{std::move(store), store_key::root()};
}

namespace detail {

ZARRPOINT_INLINE result<stored_place> zip_place(const std::string& path, const place_use& use,
                                                const zip_store_options& how) {
  const detail::path_in_file at_file = detail::split_at_file(path);
  if (use.write) {
    if (!at_file.rest.empty())
      return error{errc::invalid_argument,
                   at_file.file + " is a zip file, which is written whole: " +
                       detail::in_quotes(at_file.rest) + " cannot be put into it"};
    ZARRPOINT_TRY(at, detail::parent_place(path, {.sync = use.sync}));
    return stored_place{zip_file(std::move(at.store), std::move(at.key), how,
                                 detail::remove_abandoned_beside(path)),
                        store_key::root()};
  }
  ZARRPOINT_TRY(file, detail::open_file(at_file.file));
  zip_store_options within = how;
  within.directory_bytes =
      std::min(how.directory_bytes, use.memory / 4 + (std::uint64_t{16} << 10));
  ZARRPOINT_TRY(archive, zip_store::open(std::move(file), within));
  if (!at_file.rest.empty()) {
    ZARRPOINT_TRY(inner, store_key::parse(at_file.rest).at(at_file.file));
    return stored_place{std::move(archive), std::move(inner)};
  }
  ZARRPOINT_TRY(root, detail::zip_root(archive));
  return stored_place{std::move(archive), std::move(root)};
}

}  // namespace detail

}}  // namespace zarrpoint::v0
