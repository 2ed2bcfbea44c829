// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/file_options.hpp>

#include <cstdint>
#include <string>

namespace zarrpoint { inline namespace v0 {

/// A store and a key in it.
struct stored_place {
  any_store store;
  store_key key;
  std::string format{};  ///< that holds it, as people call it; empty for Zarr itself
};

/// What a place is opened for.
struct place_use {
  bool write = false;  ///< to publish there: the place need not exist
  bool sync = true;    ///< what is published survives a power cut; see `publish_options::sync`
  /// To read: what a store may take for what it keeps of its own documents, `limits::memory`.
  std::uint64_t memory = UINT64_MAX;
  link_scope links = link_scope::none;  ///< to read: which symbolic links are followed
};

}}  // namespace zarrpoint::v0
