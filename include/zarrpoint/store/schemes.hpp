// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/file/file_options.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// A store and a key in it.
struct stored_place {
  any_store store;
  store_key key;
  std::string format{};  ///< that holds it, as people call it; empty for Zarr itself
  /// What loads and saves run on, where threads wait for a server; it lives on. Null: as the
  /// context says.
  const any_executor* executor = nullptr;
};

/// What a place is opened for.
struct place_use {
  bool write = false;   ///< to publish there: the place need not exist
  bool sync = true;     ///< what is published survives a power cut; see `publish_options::sync`
  bool replace = true;  ///< to write one file: over another; see `file_store_options::replace`
  /// To read: what a store may take for what it keeps of its own documents, `limits::memory`.
  std::uint64_t memory = UINT64_MAX;
  link_scope links = link_scope::none;  ///< to read: which symbolic links are followed
  bool places = false;  ///< of several checkpoints, one beneath each name; see `bucket_store`
};

/// What opens the URLs of one scheme: a type with `name`, the scheme in lower case, and `open`.
template <class S>
concept store_scheme = requires(const url& at, const place_use& use) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::open(at, use) } -> std::same_as<result<stored_place>>;
};

/// `file://`: a directory, or a zip file if the path means one.
struct file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// `zip://`: a zip file of stored members. That of <zarrpoint/zip_inflate.hpp> reads deflated
/// ones, too.
struct zip_scheme {
  static constexpr std::string_view name = "zip";
  static result<stored_place> open(const url& at, const place_use& use);
};

}}  // namespace zarrpoint::v0
