// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/s3/bucket_client.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/remote/web_schemes.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Objects beneath a key of a bucket, in a service such as S3 or Google Cloud Storage: what
/// `s3_store` and `gcs_store` are. The root is a place for one checkpoint, which is published there
/// by one conditional put (docs/s3.md): what a reader sees is the old one or the new one, whole.
///
/// `places` makes it a place of many. What lies beneath the first name of a key is read and
/// published as at the root of a store of its own.
///
/// A handle stays with the checkpoint that was there when it was first read, until it publishes
/// another one itself. Open the place anew to see what others have published.
///
/// Errors name the object, what the service says and its request id, and no credentials.
class bucket_store {
 public:
  /// The same place as one of many checkpoints, as a `checkpoint_manager` has them. A list of its
  /// root looks anew at what others have published beneath.
  bucket_store places() const;

  /// Before anything is read: a save to the place comes, so the first look is at all of it, by
  /// requests that go at once. What was seen counts until the save begins, or this handle changes
  /// something.
  void expect_save() const;

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  /// Gives an object that was opened to the next that opens its key: one request less.
  void hand_on(const store_key& key, std::unique_ptr<blob> opened) const;
  /// `s3://bucket/key`.
  std::string describe(const store_key& key) const;
  /// In parts, several at once, when it is large. One that is not finished leaves nothing behind.
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const;
  result<bool> erase(const store_key& key) const;
  /// What a save has left there that is not finished is not listed.
  result<std::vector<list_entry>> list(const store_key& prefix) const;
  /// By one listing, however deep the keys are; see `any_store::list_sizes`.
  result<bool> list_sizes(const store_key& prefix, std::vector<listed_object>& to) const;
  /// Erases all that is there; of the root first what makes it a checkpoint.
  result<bool> erase_all(const store_key& prefix) const;

  /// Publishes at the root by one conditional put of a small object, which names the tree of the
  /// checkpoint. It has the plain keys for the first one at a place, a fresh prefix for all later
  /// ones. Errors: `already_exists`, `unsupported` where the server ignores conditions, or for a
  /// key of no place; of `commit` also `replaced` where another save was the first, and
  /// `outcome_unknown`.
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

  /// The objects beneath the place as they are, whatever checkpoint was published there.
  any_store objects() const;

  /// By a copy that the server makes, of an object of the same bucket; see `any_store::share`.
  bool share(const store_key& key, const blob& from) const;

  const void* identity() const noexcept { return state_.get(); }

 protected:
  /// `place`: a key of the bucket, or empty for all of it.
  bucket_store(std::shared_ptr<const detail::bucket_client> client, const store_key& place);
  /// The key in the bucket of an object of the checkpoint that is read.
  result<std::string> key_in_bucket(const store_key& key) const;

 private:
  struct state;
  class staged;
  struct place_key;

  explicit bucket_store(std::shared_ptr<state> of) : state_(std::move(of)) {}
  /// The place that a key lies in, and what is left of the key.
  place_key place_of(const store_key& key) const;

  std::shared_ptr<state> state_;
};

namespace detail {

/// A bucket and a key in it, of `scheme://bucket/key`. A key is not encoded in such a URL. Errors:
/// `invalid_argument`.
struct bucket_address {
  std::string bucket;
  store_key key;
};
result<bucket_address> parse_bucket_address(std::string_view scheme, std::string_view address);

/// What a URL of a bucket names: a Zarr hierarchy, or what one of these formats reads. `open` opens
/// the store at an address.
result<stored_place> open_bucket_place(
    const std::string& address, const place_use& use,
    const std::function<result<bucket_store>(std::string_view)>& open,
    std::span<const format_entry> formats);

/// URLs whose `Store` is asked by the transport of `By`; `Scheme::options()` gives its options.
template <class Scheme, class Store, web_access By>
struct bucket_scheme {
  static result<stored_place> open(const url& at, const place_use& use) {
    return open_among(at, use, {});
  }
  static result<stored_place> open_among(const url& at, const place_use& use,
                                         std::span<const format_entry> formats) {
    const auto open_store = [by = any_transport(By::transport()),
                             how = Scheme::options()](std::string_view of) -> result<bucket_store> {
      ZARRPOINT_TRY(store, Store::open(of, by, how));
      return bucket_store(std::move(store));
    };
    auto place = open_bucket_place(at.str(), use, open_store, formats);
    if (place) place->executor = &remote_executor();
    return place;
  }
};

}  // namespace detail

}}  // namespace zarrpoint::v0
