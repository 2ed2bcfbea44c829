// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/interop/s3/sigv4.hpp>
#include <zarrpoint/interop/s3/xml_reader.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/remote/http_client.hpp>
#include <zarrpoint/store/remote/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

// What a store of objects can do, and what follows from it whatever service that is.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What a part has at least, in bytes: services take no smaller one but the last. And at most, as
/// an object of one put has. An object has at most so many parts.
inline constexpr std::size_t least_part = std::size_t{5} << 20, most_part = std::size_t{5} << 30;
inline constexpr std::uint64_t most_parts = 10000;

/// What the options of all such stores have; see `s3_options`.
struct bucket_settings {
  bool single_writer = false;
  std::size_t part_bytes = std::size_t{16} << 20;
  unsigned parallel = 16;
  std::int64_t keep_seconds = 86400;
  std::function<std::unique_ptr<blob>(std::unique_ptr<blob>)> cache{};
};
template <class Options>
bucket_settings settings_of(const Options& how) {
  return {how.single_writer, std::clamp(how.part_bytes, least_part, most_part), how.parallel,
          how.keep_seconds, how.cache};
}

/// One request to a bucket.
struct bucket_request {
  std::string_view method = "GET";
  std::string_view key{};  ///< in the bucket; empty: the bucket
  query_list query{};
  std::vector<http_header> headers{};
  std::span<const bytes_view> body{};
  std::size_t text_limit = std::size_t{64} << 10;
  bool* maybe_done = nullptr;  ///< see `http_exchange`
};

/// What must be true of an object for a put: that it is not there, or that it has this version.
struct put_condition {
  std::string version{};  ///< an ETag or a generation; empty: nothing is there
  bool is_any = false;    ///< no condition at all
};

/// What all texts begin with that are put on a condition.
inline constexpr std::string_view bucket_text = "zarrpoint ";

/// One put of an object.
struct bucket_put {
  std::string_view key{};
  std::span<const bytes_view> body{};
  query_list marks{};  ///< what the object says beside its bytes, by name
  put_condition only{.is_any = true};
  bool* maybe_done = nullptr;  ///< see `http_exchange`
};

/// An object that is sent in parts, which nobody sees before `complete`.
class part_upload {
 public:
  part_upload() = default;
  part_upload(const part_upload&) = delete;
  part_upload& operator=(const part_upload&) = delete;
  virtual ~part_upload() = default;

  /// Once, before all parts. False: the server has no such uploads.
  virtual result<bool> begin() = 0;
  /// Part `index`, from 0; several at once.
  virtual result<void> send(std::uint64_t index, std::span<const bytes_view> body,
                            std::uint32_t crc) = 0;
  /// All `count` parts were sent. `crc`: the CRC-32C of all of them.
  virtual result<void> complete(std::uint64_t count, std::uint32_t crc) = 0;
  /// No part stays that somebody would pay for.
  virtual void abandon() noexcept = 0;
};

/// Requests to one bucket, signed and repeated, for any number of threads. Each service says how
/// it is asked; what may be asked again is asked again. Errors: those of `http_client::send`.
class bucket_client {
 public:
  bucket_client(http_client by, bucket_settings how);
  bucket_client(const bucket_client&) = delete;
  bucket_client& operator=(const bucket_client&) = delete;
  virtual ~bucket_client() = default;

  const bucket_settings& settings() const noexcept { return how_; }
  const http_client& requests() const noexcept { return requests_; }
  /// Requests of few bytes that may be under way at once: one by one, if parts are sent so.
  unsigned small_at_once() const noexcept { return how_.parallel < 2 ? 1 : 4 * how_.parallel; }
  /// The bytes of parts that are sent now, by all writers: as many as `parallel` parts have.
  byte_limiter& sent_now() const noexcept { return sent_now_; }

  /// `s3://bucket/key`.
  virtual std::string name_of(std::string_view key) const = 0;
  /// The URL that an object is read at.
  virtual std::string address_of(std::string_view key) const = 0;
  /// What errors call an object that is read, and caches: it tells one server from another. Empty:
  /// its URL.
  virtual std::string shown(std::string_view) const { return {}; }
  /// Signs as of now.
  virtual result<void> sign(http_request& request) const = 0;

  virtual result<http_response> put_once(const bucket_put& what) const = 0;
  virtual result<http_response> read_once(std::string_view key) const = 0;
  virtual result<http_response> erase_once(std::string_view key) const = 0;
  /// `after`: the `next` of the page before. `delimited`: keys with a further slash are one prefix.
  virtual result<bucket_listing> list_once(std::string_view prefix, bool delimited,
                                           std::string_view after) const = 0;
  /// What an object has of that name, or an empty text; nothing where there is no such object.
  virtual result<std::optional<std::string>> mark_of(std::string_view key,
                                                     std::string_view name) const = 0;
  virtual std::unique_ptr<part_upload> upload(std::string key, query_list marks) const = 0;
  /// Has the service copy an object to another key, with `marks` in place of its own, if it is that
  /// version still. False where it does not.
  virtual result<bool> copy(std::string_view, std::string_view, const query_list&,
                            const blob_version&) const {
    return false;
  }

  /// Which object the answer to a read is of: its ETag or its generation.
  virtual std::string version_of(const http_response& answer) const = 0;
  /// A version that no object has.
  virtual std::string no_version() const = 0;
  /// The same version as some servers want it in a condition; or an empty text.
  virtual std::string other_form(const std::string& version) const;
  /// Whether a refusal (403) may be that of a missing key: services do not tell that to those who
  /// may not list. One of the login itself is not.
  static bool may_be_missing(const http_response& refusal);

  /// The text of a small object, and the answer; nothing where there is none.
  result<std::optional<http_response>> get(std::string_view key) const;
  result<void> put(std::string_view key, std::span<const bytes_view> body,
                   query_list marks = {}) const;
  /// The version that is there now, or an empty text where no answer tells it; nothing where the
  /// condition is not met. A lost answer is resolved by reading: `body`, a `bucket_text`, must be
  /// another one for each put, and not begin as the one that it replaces. Errors: `outcome_unknown`
  /// where that cannot be read either.
  result<std::optional<std::string>> put_if(std::string_view key, std::string_view body,
                                            const put_condition& only) const;
  result<bool> exists(std::string_view key) const;
  result<void> erase(std::string_view key) const;
  /// Calls `visit` with each page of the keys that begin with `prefix`.
  result<void> list(std::string_view prefix, bool delimited,
                    const std::function<result<void>(bucket_listing&)>& visit) const;
  /// Erases all keys that begin with `prefix`; the number.
  result<std::size_t> erase_all(std::string_view prefix) const;

 protected:
  /// Sends to that URL, signed. All that is asked of a bucket may be asked again: conditions are
  /// looked at by reading.
  result<http_response> send_to(std::string address, const bucket_request& what) const;

 private:
  http_client requests_;
  bucket_settings how_;
  mutable byte_limiter sent_now_;
};

/// How parts of an object are sent by the XML interface that S3 and Google Cloud Storage have.
struct xml_sender {
  const bucket_client* client;  ///< outlives it
  std::string_view meta;        ///< what the names of marks begin with: `x-amz-meta-`
  std::function<result<http_response>(const bucket_request&)> send;
  /// Whether CRC-32Cs of S3 are sent, and whether an answer refuses them. Empty: they are not.
  std::function<bool()> checksums{};
  std::function<bool(const http_response&)> refuses{};
  /// Compares the object that is complete with its CRC-32C. Empty: the server does.
  std::function<result<void>(std::string_view, const http_response&, std::uint32_t)> check{};
  bool may_be_without = false;  ///< a server may know no such uploads
};
std::unique_ptr<part_upload> make_xml_upload(xml_sender by, std::string key, query_list marks);

/// Whether a service takes it for the name of a bucket. Errors: `invalid_argument`.
result<void> check_bucket_name(std::string_view scheme, std::string_view name);
/// The URL of a service, without what does not belong to one.
result<web_url> parse_endpoint(std::string_view text);
/// The hash of a body that is signed: TLS looks after it else.
std::string payload_hash(const http_request& request);
/// Of an answer to a put that names no version: nobody who took the object gave it, but a proxy.
/// Then what was sent may be there all the same.
error no_etag(const std::string& name, bool* maybe_done = nullptr);
std::uint32_t crc32c_of(std::span<const bytes_view> body);

/// A CRC-32C as services write it: base64 of its four bytes, the highest first.
std::string checksum_text(std::uint32_t crc);

/// Calls `f(i)` for i from 0 to `count`, in up to `width` threads. The first error, in their order.
result<void> for_each_parallel(std::size_t count, unsigned width,
                               const std::function<result<void>(std::size_t)>& f);

/// One object that is written in parts, where it is large.
std::unique_ptr<blob_writer> make_part_writer(std::shared_ptr<const bucket_client> to,
                                              std::string key, query_list marks);

}}}  // namespace zarrpoint::v0::detail
