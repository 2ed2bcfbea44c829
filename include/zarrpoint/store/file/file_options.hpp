// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zarrpoint { inline namespace v0 {

/// How a directory is used as a store.
struct file_store_options {
  /// Make the directory when it is missing; its parent must exist.
  bool create = false;
  /// Each object survives a power cut once its `put` or `finish` returned.
  bool sync = false;
  /// Objects appear whole, by renaming. False saves the renaming: for a tree that nobody reads yet.
  bool atomic = true;
  /// Nothing is written, and `can_write` says so.
  bool read_only = false;
};

}}  // namespace zarrpoint::v0
