// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/s3/s3_client.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/remote/web_schemes.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Objects beneath `s3://bucket/key`, in S3 or in a store that speaks as it does. The root is a
/// place for one checkpoint, which is published there by one conditional put (docs/s3.md): what
/// a reader sees is the old one or the new one, whole.
///
/// A handle stays with the checkpoint that was there when it was first read, until it publishes
/// another one itself. Open the place anew to see what others have published.
///
/// Errors name the object, what the service says and its request id, and no credentials.
class s3_store {
 public:
  /// Sends nothing. Errors: `invalid_argument` for what is not such a URL, or an endpoint that is
  /// not one of http or https.
  static result<s3_store> open(std::string_view address, any_transport by, s3_options how = {});

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  /// `s3://bucket/key`.
  std::string describe(const store_key& key) const;
  /// In parts, several at once, when it is large. One that is not finished leaves nothing behind.
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const;
  result<bool> erase(const store_key& key) const;
  /// What a save has left there that is not finished is not listed.
  result<std::vector<list_entry>> list(const store_key& prefix) const;
  /// Erases all that is there; of the root first what makes it a checkpoint.
  result<bool> erase_all(const store_key& prefix) const;

  /// Publishes at the root by one conditional put of a small object, which names the tree of the
  /// checkpoint: the plain keys for the first one at a place, a fresh prefix for all later ones.
  /// Errors: `already_exists`, `unsupported` where the server ignores conditions, or for a key that
  /// is not the root; of `commit` also `replaced` where another save was the first, and
  /// `outcome_unknown`.
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

  /// A URL by which anybody may read an object for that long, up to a week. Errors: those of the
  /// login; `invalid_argument` for a time that is longer, and without keys.
  result<std::string> presign(const store_key& key, std::chrono::seconds valid) const;

  const void* identity() const noexcept { return state_.get(); }

 private:
  struct state;
  class staged;
  explicit s3_store(std::shared_ptr<state> of) : state_(std::move(of)) {}

  std::shared_ptr<state> state_;
};

namespace detail {

/// What a URL of S3 names: a Zarr hierarchy, or what one of these formats reads.
result<stored_place> open_s3_place(
    const url& at, const place_use& use, s3_options how,
    const std::pair<any_transport, std::span<const format_entry>>& by);

}  // namespace detail

/// `s3://bucket/key` by the transport of `By`, such as `curl_access`, to read and to write:
/// `formats<s3_scheme_by<curl_access>>()`. A static function `s3` of `By` gives `s3_options`; else
/// keys and endpoint are those of the environment.
template <web_access By>
struct s3_scheme_by {
  static constexpr std::string_view name = "s3";
  static result<stored_place> open(const url& at, const place_use& use) {
    return open_among(at, use, {});
  }
  static result<stored_place> open_among(const url& at, const place_use& use,
                                         std::span<const detail::format_entry> formats) {
    s3_options how;
    if constexpr (requires { By::s3(); }) how = By::s3();
    auto place =
        detail::open_s3_place(at, use, std::move(how), {any_transport(By::transport()), formats});
    if (place) place->executor = &remote_executor();
    return place;
  }
};

}}  // namespace zarrpoint::v0
