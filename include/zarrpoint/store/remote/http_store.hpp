// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/remote/http_client.hpp>

#include <mutex>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Threads that wait for servers, 64 of them, for all of the process: what loads from stores over a
/// network run on, so that so many requests are under way. They start at the first call.
const any_executor& remote_executor();

/// How objects of a server are read.
struct http_store_options {
  /// Sent with each request, such as `Authorization` or `X-Api-Key`: to no other host than the
  /// URL's own, wherever it redirects, but for `Accept`, `User-Agent` and those of ranges.
  std::vector<http_header> headers{};
  retry_options retry{};
  unsigned redirects = 5;  ///< that are followed, one after the other
  /// Called before each attempt of a request to the URL's own host, such as to sign it; see
  /// `http_exchange::prepare`.
  std::function<result<void>(http_request&)> prepare{};
  /// What is read of an object when it is opened: many small ones then take one request. Of the end
  /// of a zip file it is four times as much.
  std::size_t first_bytes = std::size_t{64} << 10;
  /// Ranges of one read that lie no further apart are one request.
  std::size_t joined_gap = std::size_t{32} << 10;
  /// Small reads that follow each other closely, as of the many small tensors of one file, get what
  /// lies around them by one request of 1 MiB. So many are kept of an open object; 0 for none.
  /// Where several threads read on, up to half of them are read ahead.
  unsigned kept_blocks = 32;
  /// What is made of each object that was opened, such as a `read_cache`.
  std::function<std::unique_ptr<blob>(std::unique_ptr<blob>)> cache{};
  /// Called with the answer that opens an object, from any thread.
  std::function<void(const http_response&)> opened{};
  /// What errors call the object of `open_address`. Empty: its URL.
  std::string name{};
};

namespace detail {

/// Whether an object that a store of these has opened, with that version, has this ETag.
bool is_version_of(const blob_version& of, std::string_view etag) noexcept;

/// An object that was opened, for the next that opens its key: one request less.
struct handed_on {
  std::mutex mutex;
  std::string key;
  std::unique_ptr<blob> opened;

  void give(const store_key& of, std::unique_ptr<blob> object) {
    const std::lock_guard lock(mutex);
    key = of.str();
    opened = std::move(object);
  }
  std::unique_ptr<blob> take(const store_key& of) {
    const std::lock_guard lock(mutex);
    return opened != nullptr && key == of.str() ? std::move(opened) : nullptr;
  }
};

}  // namespace detail

/// Objects of a server of HTTP, by their keys beneath a URL: to read, without a listing. A query of
/// the URL, such as a signature, is sent with each key. Credentials in a URL become a header
/// `Authorization`. No error shows either.
///
/// An object is opened by a range of its first bytes, which tells its size and its ETag. A name
/// that ends with a digit is that of a chunk. It is opened by its last bytes, where a shard has its
/// index, unless the server knows no such ranges. One that ends with `.zip` is opened by both at
/// once. Every later range must be of the same ETag, or the error is `replaced`. What the server
/// does wrong is an error that names it. It ignores ranges (`unsupported`, but what is read whole
/// is read), it sends another range (`io`), it encodes bodies (`unsupported`). A missing key (404,
/// 410) is a null blob, as in every store.
class http_store {
 public:
  /// By a client that others use, too, whose retries are those of all of them.
  static result<http_store> over(http_client by, std::string_view address, http_store_options how);

  /// The keys beneath `address`, a URL of http or https. Sends nothing. Errors:
  /// `invalid_argument` for what is not such a URL.
  static result<http_store> open(std::string_view address, any_transport by,
                                 http_store_options how = {});

  result<std::unique_ptr<blob>> open(const store_key& key) const;

  /// The object that the URL itself names. Null for none, and for what the server takes for a
  /// directory: it redirects to the same name with a slash at its end.
  result<std::unique_ptr<blob>> open_address() const;

  /// Gives an object that was opened to the next that opens its key: one request less.
  void hand_on(const store_key& key, std::unique_ptr<blob> opened) const;

  /// The URL of a key, without credentials and query.
  std::string describe(const store_key& key) const;

  const void* identity() const noexcept { return state_.get(); }

 private:
  struct state {
    http_client client;
    http_store_options how;
    web_url at;
  };
  class object;

  explicit http_store(std::shared_ptr<const state> shared) : state_(std::move(shared)) {}

  static result<std::unique_ptr<blob>> open_at(std::shared_ptr<const state> shared,
                                               const web_url& at);
  web_url url_of(const store_key& key) const;

  std::shared_ptr<const state> state_;
  std::shared_ptr<detail::handed_on> next_ = detail::make_counted<detail::handed_on>();
};

}}  // namespace zarrpoint::v0
