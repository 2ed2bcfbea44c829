// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zarrpoint { inline namespace v0 {

/// Which symbolic links beneath its root a store follows when it reads. What it does not follow is
/// an error that names the path; a root that is a link itself is the caller's, and followed.
enum class link_scope : unsigned char {
  none,          ///< no link
  beneath_root,  ///< those that lead to what lies beneath the root, each of several in a row
  anywhere,      ///< all: what they lead to is read with the rights of the process
};

/// How a directory is used as a store.
struct file_store_options {
  /// Make the directory when it is missing; its parent must exist.
  bool create = false;
  /// Each object survives a power cut once its `put` or `finish` returned.
  bool sync = false;
  /// Objects appear whole, by renaming. False saves the renaming: for a tree that nobody reads yet.
  bool atomic = true;
  /// A writer that finishes replaces what has its name; false: that is `already_exists` then. Where
  /// neither the kernel nor the file system knows such a renaming, it looks first. Needs `atomic`.
  bool replace = true;
  /// Nothing is written, and `can_write` says so.
  bool read_only = false;
  /// For reading only: no write goes through a link.
  link_scope follow_links = link_scope::none;
  /// Savers that replace the directory leave the old one, without a name that anyone knows. It is
  /// there until the store and its blobs are gone and a later save beside it cleans up. What was
  /// opened stays readable. `unsupported` on file systems without locks that all machines see.
  bool hold = false;
};

}}  // namespace zarrpoint::v0
