// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/file/file_options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {
class file_root;
}  // namespace detail

/// A directory as a store: a key is a path beneath it. Nothing but regular files is an object. To
/// open a device or a pipe is an error, and so is a symbolic link beneath the root, unless
/// `follow_links` lets reads follow it. Readers need no lock, since what a file holds is never
/// changed: a file is replaced, or grows in one step.
class file_store {
 public:
  /// The directory at `path`, a symbolic link followed. Errors: `not_found`, `io`; `unsupported`
  /// for links to be followed beneath the root where there is no `openat2`.
  static result<file_store> open(std::string_view path, const file_store_options& how = {});

  result<std::unique_ptr<blob>> open(const store_key& key) const;

  std::string describe(const store_key& key) const;

  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;

  result<void> put(const store_key& key, bytes_view bytes) const;

  /// On ext4, for files with one name; see `any_store::extend`.
  result<std::unique_ptr<blob_extension>> extend(const store_key& key, const blob& before) const;

  /// By another name of the same file, which nobody changes; see `any_store::share`.
  bool share(const store_key& key, const blob& from) const;

  result<bool> erase(const store_key& key) const;

  /// Moves a file or a directory with all in it, in one step. Errors: `not_found`,
  /// `already_exists` when anything but an empty directory is there, `invalid_argument`, `io`;
  /// `outcome_unknown` when only the sync afterwards failed.
  result<void> rename(const store_key& from, const store_key& to) const;

  /// Erases a directory with all in it: it loses its name in one step, its content after that.
  /// False when there is none. What is left of it after a crash is never listed. Errors: `io`;
  /// `outcome_unknown` when only the sync afterwards failed.
  result<bool> erase_all(const store_key& prefix) const;

  /// Links are listed, too: as objects where they lead to files, else as prefixes. So who opens or
  /// lists them gets what they lead to, or an error that names them. Errors: `io`.
  result<std::vector<list_entry>> list(const store_key& prefix) const;

  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

  bool can_write() const;
  bool can_list() const { return true; }
  bool lists_cheaply() const { return true; }
  bool can_publish() const { return can_write(); }

 private:
  explicit file_store(std::shared_ptr<detail::file_root> root) : root_(std::move(root)) {}

  result<void> check_writable(const store_key& key, const char* action) const;

  class staged;

  std::shared_ptr<detail::file_root> root_;
};

}}  // namespace zarrpoint::v0
