// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_member_blob.hpp>

#include <utility>

namespace zarrpoint { inline namespace v0 {

/// How a zip file is read.
struct zip_store_options {
  /// For deflated members; null: they are `unsupported`. See <zarrpoint/zip_inflate.hpp>.
  zip_decoder_factory inflate = nullptr;
  /// The largest central directory; it takes about 50 bytes and the name for each member.
  std::uint64_t directory_bytes = std::uint64_t{1} << 30;
};

/// The members of a zip file (PKWARE APPNOTE 6.3.10), to read and list: those that are stored by
/// ranges and mapped, those that are deflated with <zarrpoint/zip_inflate.hpp>. Of members
/// with the same name the last one counts. The checksum of a member is verified when it is read
/// whole.
class zip_store {
 public:
  /// The archive that is the object `key` of `base`. Errors: `not_found`; `corrupt` for one that is
  /// cut short, whose members overlap, or whose names are not keys (absolute, with `..`);
  /// `unsupported` for encryption and several volumes; `resource_limit`; `io`.
  static result<zip_store> open(const any_store& base, const store_key& key,
                                const zip_store_options& how = {});

  /// The archive that `file` holds.
  static result<zip_store> open(std::unique_ptr<blob> file, const zip_store_options& how = {});

  result<std::unique_ptr<blob>> open(const store_key& key) const;

  std::string describe(const store_key& key) const;

  result<std::vector<list_entry>> list(const store_key& prefix) const;

  bool lists_cheaply() const { return true; }
  const void* identity() const noexcept { return state_.get(); }

 private:
  struct state {
    std::shared_ptr<const detail::zip_archive> archive;
    std::vector<detail::zip_member> members;  ///< sorted by name

    std::vector<detail::zip_member>::const_iterator lower_bound(std::string_view name) const;
    const detail::zip_member* find(std::string_view name) const;
  };

  explicit zip_store(std::shared_ptr<const state> opened) : state_(std::move(opened)) {}

  static result<zip_store> read(std::unique_ptr<blob> file, const zip_store_options& how);

  std::shared_ptr<const state> state_;
};

}}  // namespace zarrpoint::v0
