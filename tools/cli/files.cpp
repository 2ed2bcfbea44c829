// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace cli {

namespace {

struct place {
  zp::file_store store;
  zp::store_key key;
};

zp::result<place> locate(std::string_view path, const zp::file_store_options& how) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);  // npos + 1 == 0
  const std::string_view directory = slash == path.npos ? "."
                                     : slash == 0       ? "/"
                                                        : path.substr(0, slash);
  ZARRPOINT_TRY(key, zp::store_key::parse(name));
  if (key.is_root())
    return zp::error{zp::errc::invalid_argument,
                     "\"" + std::string(path) + "\" does not name a file"};
  ZARRPOINT_TRY(store, zp::file_store::open(directory, how));
  return place{std::move(store), std::move(key)};
}

}  // namespace

path_kind kind_of(const std::string& path) {
  struct ::stat info {};
  if (::stat(path.c_str(), &info) != 0) return path_kind::nothing;
  if (S_ISREG(info.st_mode)) return path_kind::file;
  return S_ISDIR(info.st_mode) ? path_kind::directory : path_kind::other;
}

zp::link_scope& followed_links() {
  static zp::link_scope scope = zp::link_scope::none;
  return scope;
}

zp::result<void> check_links(const std::string& folder, std::string_view name) {
  ZARRPOINT_TRY(
      store, zp::file_store::open(folder, {.read_only = true, .follow_links = followed_links()}));
  ZARRPOINT_TRY(key, zp::store_key::parse(name));
  ZARRPOINT_CHECK(store.open(key));
  return {};
}

zp::result<std::shared_ptr<const zp::blob>> open_file(const std::string& path) {
  // The store follows no links, but the caches that models are downloaded to are made of them.
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (resolved == nullptr) {
    const int code = errno;
    return zp::error{code == ENOENT || code == ENOTDIR ? zp::errc::not_found : zp::errc::io,
                     "open " + path + ": " + std::generic_category().message(code)};
  }
  ZARRPOINT_TRY(at, locate(resolved.get(), {.read_only = true}));
  ZARRPOINT_TRY(opened, at.store.open(at.key));
  if (opened == nullptr)
    return zp::error{zp::errc::not_found, "open " + path + ": there is no such file"};
  return std::shared_ptr<const zp::blob>(std::move(opened));
}

zp::result<void> check_free(const std::string& path, bool overwrite) {
  struct ::stat info {};
  if (overwrite || ::lstat(path.c_str(), &info) != 0) return {};
  return zp::error{zp::errc::already_exists,
                   path +
                       " exists; --overwrite replaces it if it is a checkpoint of that format "
                       "or a file"};
}

zp::result<std::unique_ptr<zp::blob_writer>> create_file(const std::string& path, bool overwrite) {
  ZARRPOINT_CHECK(check_free(path, overwrite));
  const path_kind there = kind_of(path);
  if (there != path_kind::nothing && there != path_kind::file)
    return zp::error{zp::errc::already_exists,
                     path + " exists and is not a file; nothing was changed"};
  ZARRPOINT_TRY(at, locate(path, {.sync = true}));
  return at.store.create(at.key);
}

std::string file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string file_stem(std::string_view path) {
  std::string name = file_name(path);
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot != 0) name.resize(dot);
  return name;
}

}  // namespace cli
