// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/s3/s3_client.hpp>
#include <zarrpoint/interop/s3/sha256.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <list>
#include <map>
#include <thread>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ----------------------------------------------------------------------------------- s3_client.hpp

ZARRPOINT_INLINE result<void> for_each_parallel(std::size_t count, unsigned width,
                                                const std::function<result<void>(std::size_t)>& f) {
  const std::size_t most = std::max(width, 1U);
  const thread_pool pool(static_cast<unsigned>(std::clamp<std::size_t>(count, 1, most)));
  return parallel_for(pool.executor(), count, f);
}

ZARRPOINT_INLINE bool is_bucket_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return text.size() >= 3 && text.size() <= 255 && is_letter(text.front()) &&
         is_letter(text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || c == '-' || c == '.' || c == '_';
         });
}

ZARRPOINT_INLINE result<s3_client> s3_client::open(std::string_view bucket, any_transport by,
                                                   s3_options how) {
  if (!is_bucket_name(bucket))
    return error{errc::invalid_argument, "s3://" + printable(bucket, 80) +
                                             ": that is not the name of a bucket, which has 3 to "
                                             "63 letters, digits, dots and hyphens"};
  std::string endpoint = how.endpoint;
  for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    if (endpoint.empty()) endpoint = environment_value(name);
  }
  web_url at;
  if (!endpoint.empty()) {
    ZARRPOINT_TRY(parsed, web_url::parse(endpoint).at("the endpoint of S3"));
    at = std::move(parsed);
    at.user.clear();
    at.query.clear();
    while (at.path.ends_with('/')) at.path.pop_back();
  }
  std::string region = how.region.empty() ? aws_region({}) : how.region;
  auto shared =
      make_counted<state>(std::string(bucket), std::move(by), std::move(how), std::move(at));
  shared->region = std::move(region);
  return s3_client(std::move(shared));
}

ZARRPOINT_INLINE std::string s3_client::region() const {
  const std::lock_guard lock(state_->mutex);
  return state_->region;
}

ZARRPOINT_INLINE std::string s3_client::name_of(std::string_view key) const {
  std::string out = "s3://" + state_->bucket;
  if (!key.empty()) out.append("/").append(printable(key, 300));
  return out;
}

ZARRPOINT_INLINE web_url s3_client::url_of(std::string_view key) const {
  web_url out = state_->endpoint;
  const std::string& bucket = state_->bucket;
  const bool has_dot = bucket.find('.') != bucket.npos;
  const bool in_path = state_->how.path_style.value_or(!out.host.empty() || has_dot);
  if (out.host.empty()) {
    const std::string where = region();
    out.scheme = "https";
    out.host = "s3." + where + (where.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  }
  if (in_path) {
    out.path += '/' + bucket;
  } else {
    out.host = bucket + '.' + out.host;
  }
  out.path += '/' + percent_encode(key, true);
  return out;
}

ZARRPOINT_INLINE result<void> s3_client::sign(http_request& request) const {
  if (state_->how.requester_pays) request.headers.push_back({"x-amz-request-payer", "requester"});
  if (state_->how.login.is_anonymous()) return {};
  ZARRPOINT_TRY(keys, state_->how.login.keys(state_->by));
  // Without TLS nobody else looks after the body.
  std::string hash(unsigned_payload);
  if (!request.url.starts_with("https:")) {
    sha256 of;
    for (const bytes_view part : request.body) of.add(part);
    hash = to_hex(of.finish());
  }
  const std::string where = region();
  sign_v4(request, hash, keys, {.region = where, .now = requests().clock().seconds()});
  return {};
}

ZARRPOINT_INLINE result<std::string> s3_client::presign(std::string_view key,
                                                        std::int64_t seconds) const {
  ZARRPOINT_TRY(keys, state_->how.login.keys(state_->by));
  const std::string where = region();
  return presign_v4("GET", url_of(key), keys,
                    {.region = where, .now = requests().clock().seconds()}, seconds);
}

ZARRPOINT_INLINE bool s3_client::learn_region(const http_response& answer,
                                              std::string_view asked) const {
  if (answer.status != 301 && answer.status != 307 && answer.status != 400 && answer.status != 403)
    return false;
  std::string named(answer.header("x-amz-bucket-region"));
  if (named.empty()) named = parse_s3_problem(answer.text).region;
  const bool is_name =
      !named.empty() && named.size() < 40 && std::all_of(named.begin(), named.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
      });
  // Another thread may have learned it meanwhile.
  if (!is_name || named == asked) return false;
  const std::lock_guard lock(state_->mutex);
  state_->region = std::move(named);
  return true;
}

ZARRPOINT_INLINE result<http_response> s3_client::send(const s3_request& what) const {
  for (int hop = 0;; ++hop) {
    const std::string asked = region();
    web_url url = url_of(what.key);
    url.query = canonical_query(what.query);
    http_request request{.method = std::string(what.method),
                         .url = url.str(),
                         .headers = what.headers,
                         .body = what.body,
                         .text_limit = what.text_limit};
    // All that is asked of a bucket may be asked again: conditions are looked at by reading.
    ZARRPOINT_TRY(answer, requests().send(std::move(request),
                                          {.name = name_of(what.key),
                                           .budget = state_->bucket,
                                           .prepare = [this](http_request& of) { return sign(of); },
                                           .maybe_done = what.maybe_done}));
    if (hop == 1 || !learn_region(answer, asked)) return std::move(answer);
  }
}

ZARRPOINT_INLINE result<http_response> s3_client::demand(const s3_request& what) const {
  ZARRPOINT_TRY(answer, send(what));
  if (answer.status / 100 == 2) return std::move(answer);
  return http_failure(answer, what.method, name_of(what.key));
}

ZARRPOINT_INLINE result<std::optional<http_response>> s3_client::get(std::string_view key) const {
  ZARRPOINT_TRY(answer, send({.key = key, .text_limit = std::size_t{16} << 20}));
  if (answer.status == 404) return std::optional<http_response>();
  if (answer.status == 403) {
    const std::string code = parse_s3_problem(answer.text).code;
    const bool is_login = code == "ExpiredToken" || code == "InvalidAccessKeyId" ||
                          code == "RequestTimeTooSkewed" || code == "SignatureDoesNotMatch";
    if (!is_login) return std::optional<http_response>();
  }
  if (answer.status != 200 || !answer.whole()) return http_failure(answer, "GET", name_of(key));
  return std::optional(std::move(answer));
}

ZARRPOINT_INLINE result<bool> s3_client::exists(std::string_view key) const {
  ZARRPOINT_TRY(answer, send({.method = "HEAD", .key = key}));
  if (answer.status == 404) return false;
  if (answer.status != 200) return http_failure(answer, "HEAD", name_of(key));
  return true;
}

ZARRPOINT_INLINE result<void> s3_client::erase(std::string_view key) const {
  ZARRPOINT_TRY(answer, send({.method = "DELETE", .key = key}));
  if (answer.status / 100 == 2 || answer.status == 404) return {};
  return http_failure(answer, "DELETE", name_of(key));
}

ZARRPOINT_INLINE std::string checksum_text(std::uint32_t crc) {
  const std::byte bytes[] = {
      static_cast<std::byte>(crc >> 24), static_cast<std::byte>(crc >> 16 & 255),
      static_cast<std::byte>(crc >> 8 & 255), static_cast<std::byte>(crc & 255)};
  return to_base64(bytes);
}

ZARRPOINT_INLINE bool s3_client::refuses_checksums(const http_response& answer) const {
  if (answer.status != 400 && answer.status != 501) return false;
  const std::string code = parse_s3_problem(answer.text).code;
  // What has nothing to do with whether the server takes them, or says that they did their work.
  static constexpr std::string_view others[] = {
      "BadDigest",      "InvalidDigest",  "XAmzContentSHA256Mismatch",
      "IncompleteBody", "RequestTimeout", "XAmzContentChecksumMismatch",
      "ExpiredToken",   "InvalidToken",   "EntityTooLarge"};
  if (std::find(std::begin(others), std::end(others), code) != std::end(others)) return false;
  state_->checksums = false;
  return true;
}

ZARRPOINT_INLINE result<void> s3_client::put(std::string_view key, std::span<const bytes_view> body,
                                             const std::vector<http_header>& headers) const {
  for (;;) {
    s3_request request{.method = "PUT", .key = key, .headers = headers, .body = body};
    const bool with_checksum = sends_checksums();
    if (with_checksum) {
      std::uint32_t crc = 0;
      for (const bytes_view part : body) crc = crc32c(part, crc);
      request.headers.push_back({"x-amz-checksum-crc32c", checksum_text(crc)});
    }
    ZARRPOINT_TRY(answer, send(request));
    if (answer.status / 100 == 2) return {};
    if (with_checksum && refuses_checksums(answer)) continue;
    return http_failure(answer, "PUT", name_of(key));
  }
}

ZARRPOINT_INLINE result<bool> s3_client::put_if(std::string_view key, std::string_view body,
                                                const put_condition& only) const {
  const bytes_view bytes[] = {std::as_bytes(std::span(body))};
  std::string etag = only.etag;
  error last{errc::unavailable, "PUT " + name_of(key)};
  const auto unknown = [](std::string why) { return error{errc::outcome_unknown, std::move(why)}; };
  for (int turn = 0; turn < 6; ++turn) {
    bool is_lost = false;
    s3_request request{.method = "PUT", .key = key, .body = bytes, .maybe_done = &is_lost};
    if (!only.is_any)
      request.headers.push_back(etag.empty() ? http_header{"If-None-Match", "*"}
                                             : http_header{"If-Match", etag});
    auto answer = send(request);
    if (answer && answer->status / 100 == 2) return true;
    const bool is_refused = answer && (answer->status == 412 || answer->status == 409 ||
                                       (answer->status == 404 && !etag.empty()));
    if (answer && !is_refused && !is_lost) return http_failure(*answer, "PUT", name_of(key));
    if (!answer && !is_lost && answer.failure().code != errc::unavailable)
      return std::move(answer).failure();
    if (!answer) last = answer.failure();
    // An earlier attempt may have been done, and its answer lost.
    auto now = send({.key = key, .text_limit = std::size_t{16} << 20});
    if (!now) return unknown(now.failure().message);
    // S3 says 403 of a missing object, too, to those who may not list: but this one is there.
    const bool may_be_missing = now->status == 403 && only.etag.empty() && !only.is_any &&
                                !(answer && answer->status == 412);
    const bool is_there = now->status == 200 && now->whole();
    if (!is_there && now->status != 404 && !may_be_missing)
      return unknown(http_failure(*now, "GET", name_of(key)).message);
    if (is_there && now->text == body) return true;
    if (answer && !is_refused) return http_failure(*answer, "PUT", name_of(key));
    const std::string is(is_there ? now->header("ETag") : std::string_view());
    if (!only.is_any && is != only.etag) return false;
    // It is as it was. Ceph takes an ETag without its quotation marks only; a conflict (409) and a
    // lost request are tried again.
    if (answer && answer->status == 412) {
      if (etag != only.etag || etag.size() < 3 || etag.front() != '"') return false;
      etag = etag.substr(1, etag.size() - 2);
    }
  }
  return error{errc::outcome_unknown, last.message};
}

ZARRPOINT_INLINE result<void> s3_client::list(
    std::string_view prefix, bool delimited,
    const std::function<result<void>(s3_listing&)>& visit) const {
  std::string next;
  do {
    s3_request request{.query = {{"list-type", "2"}, {"prefix", std::string(prefix)}},
                       .text_limit = std::size_t{16} << 20};
    if (delimited) request.query.emplace_back("delimiter", "/");
    if (!next.empty()) request.query.emplace_back("continuation-token", next);
    ZARRPOINT_TRY(answer, send(request));
    const std::string name = "list " + name_of(prefix);
    if (answer.status != 200 || !answer.whole())
      return http_failure(answer, "list", name_of(prefix));
    ZARRPOINT_TRY(page, parse_s3_listing(answer.text).at(name));
    if (!page.next.empty() && page.next == next)
      return error{errc::corrupt, name + ": its pages never end"};
    next = page.next;
    ZARRPOINT_CHECK(visit(page));
  } while (!next.empty());
  return {};
}

ZARRPOINT_INLINE result<std::size_t> s3_client::erase_all(std::string_view prefix,
                                                          std::string_view but) const {
  std::size_t erased = 0;
  ZARRPOINT_CHECK(list(prefix, false, [&](s3_listing& page) -> result<void> {
    std::erase_if(page.objects, [&](const s3_listing::object& one) {
      return !one.key.starts_with(prefix) || (!but.empty() && one.key.starts_with(but));
    });
    erased += page.objects.size();
    return for_each_parallel(page.objects.size(), options().parallel,
                             [&](std::size_t i) { return erase(page.objects[i].key); });
  }));
  return erased;
}

/// Collects what is written, and sends each part when nothing is missing in it.
class s3_writer final : public blob_writer {
 public:
  s3_writer(s3_client to, std::string key, std::vector<http_header> headers)
      : to_(std::move(to)), key_(std::move(key)), headers_(std::move(headers)) {}
  ~s3_writer() override {
    if (!finished_) abandon();
  }

  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    return add(offset, 0, bytes, false);
  }
  result<void> write_once(std::uint64_t offset, std::size_t gap, bytes_view bytes) override {
    return add(offset, gap, bytes, true);
  }
  result<void> write_kept(std::uint64_t offset, std::size_t gap, bytes_view bytes) override {
    return add(offset, gap, bytes, true);
  }

  result<void> reserve(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    if (began_) return {};
    part_bytes_ = std::max<std::uint64_t>(part_bytes_, size / 9000 + 1);
    return {};
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    const std::lock_guard lock(mutex_);
    while (!into.empty()) {
      const auto at = static_cast<std::size_t>(offset % part_bytes_);
      const std::size_t next = std::min<std::size_t>(into.size(), part_bytes_ - at);
      const auto found = parts_.find(offset / part_bytes_);
      if (found == parts_.end() || found->second.bytes.size() < at + next)
        return error{errc::unsupported, name() + ": that part was sent, or not written yet"};
      std::memcpy(into.data(), found->second.bytes.data() + at, next);
      offset += next;
      into = into.subspan(next);
    }
    return {};
  }

  result<void> finish() override {
    if (std::exchange(finished_, true))
      return error{errc::invalid_argument, "finish " + name() + ": it is finished already"};
    auto done = guarded([&] { return complete(); });
    if (!done) abandon();
    return done;
  }

 private:
  struct part {
    std::vector<std::byte> bytes;
    std::size_t whole = 0;  ///< bytes that are not written again
  };
  struct sender {
    std::thread thread{};
    bool has_ended = false;
  };
  /// Tells an upload from all others of its key.
  static constexpr std::string_view mark_header = "x-amz-meta-zarrpoint-upload";
  struct sent_part {
    std::string etag;
    std::uint32_t crc = 0;
    std::size_t size = 0;
  };

  std::string name() const { return to_.name_of(key_); }

  result<void> add(std::uint64_t offset, std::size_t gap, bytes_view bytes, bool once) {
    if (bytes.empty()) return {};
    if (offset > std::uint64_t{1} << 50 || bytes.size() > std::uint64_t{1} << 50)
      return error{errc::out_of_range, "write " + name() + ": no object is that large"};
    {
      const std::lock_guard lock(mutex_);
      began_ = true;  // from here on the size of parts stays
    }
    auto done = guarded([&]() -> result<void> {
      if (once && gap > 0 && gap <= offset) {
        const std::uint64_t from = offset - gap;
        for (std::uint64_t at = from; at < offset;) {
          const std::uint64_t next = std::min(offset, (at / part_bytes_ + 1) * part_bytes_);
          ZARRPOINT_CHECK(put(at, {}, static_cast<std::size_t>(next - at), true));
          at = next;
        }
      }
      while (!bytes.empty()) {
        const std::size_t room = part_bytes_ - static_cast<std::size_t>(offset % part_bytes_);
        const std::size_t next = std::min(bytes.size(), room);
        ZARRPOINT_CHECK(put(offset, bytes.first(next), next, once));
        offset += next;
        bytes = bytes.subspan(next);
      }
      return {};
    });
    // Bytes are missing: no object is made of the others.
    if (!done) fail(done.failure());
    return done;
  }

  void fail(const error& why) {
    const std::lock_guard lock(threads_mutex_);
    if (failed_) failed_ = why;
  }

  /// Within one part; without `bytes`, zeros.
  result<void> put(std::uint64_t offset, bytes_view bytes, std::size_t size, bool once) {
    const std::uint64_t index = offset / part_bytes_;
    const auto at = static_cast<std::size_t>(offset % part_bytes_);
    part full;
    {
      const std::lock_guard lock(mutex_);
      part& into = parts_[index];
      if (into.bytes.size() < at + size) into.bytes.resize(at + size);
      if (!bytes.empty()) std::memcpy(into.bytes.data() + at, bytes.data(), size);
      end_ = std::max(end_, offset + size);
      if (once) into.whole += size;
      if (into.whole < part_bytes_) return {};
      full = std::move(into);
      parts_.erase(index);
    }
    return send_later(index, std::move(full.bytes));
  }

  result<void> begin() {
    const std::lock_guard lock(begin_mutex_);
    if (!upload_.empty()) return {};
    for (;;) {
      s3_request request{
          .method = "POST", .key = key_, .query = {{"uploads", ""}}, .headers = headers_};
      request.headers.push_back({std::string(mark_header), mark_});
      checksums_ = to_.sends_checksums();
      if (checksums_) {
        request.headers.push_back({"x-amz-checksum-algorithm", "CRC32C"});
        request.headers.push_back({"x-amz-checksum-type", "FULL_OBJECT"});
      }
      ZARRPOINT_TRY(answer, to_.send(request));
      if (checksums_ && to_.refuses_checksums(answer)) continue;
      if (answer.status / 100 != 2) return http_failure(answer, "POST", name());
      std::string id;
      ZARRPOINT_CHECK(for_each_xml_text(answer.text, [&](std::string_view path, std::string& text) {
        if (path.ends_with("/UploadId")) id = std::move(text);
      }));
      if (id.empty()) return error{errc::io, "POST " + name() + ": the upload has no id"};
      upload_ = std::move(id);
      return {};
    }
  }

  /// Sends a part while the caller goes on, unless enough are under way.
  result<void> send_later(std::uint64_t index, std::vector<std::byte> bytes) {
    ZARRPOINT_CHECK(begin());
    const auto held = make_counted<const std::vector<std::byte>>(std::move(bytes));
    std::unique_lock lock(threads_mutex_);
    ZARRPOINT_CHECK(failed_);
    changed_.wait(lock, [&] { return under_way_ < std::max(1U, to_.options().parallel); });
    // Those that have ended give back what they have of the system.
    std::erase_if(threads_, [](sender& one) {
      if (one.has_ended) one.thread.join();
      return one.has_ended || !one.thread.joinable();
    });
    ++under_way_;
    const auto work = [this, index, held](sender* by) {
      auto done = guarded([&] { return send_part(index, *held); });
      const std::lock_guard lock_again(threads_mutex_);
      if (!done && failed_) failed_ = std::move(done);
      --under_way_;
      if (by != nullptr) by->has_ended = true;
      changed_.notify_all();
    };
    const auto started = guarded([&]() -> result<void> {
      // One that does not start has nothing to join.
      sender* const by = &threads_.emplace_back();
      by->thread = std::thread([work, by] { work(by); });
      return {};
    });
    if (started) return {};
    lock.unlock();
    work(nullptr);
    return {};
  }

  error too_many_parts() const {
    return {errc::out_of_range,
            name() + ": it has more than 10,000 parts; raise s3_options::part_bytes"};
  }

  result<void> send_part(std::uint64_t index, bytes_view bytes) {
    if (index >= 10000) return too_many_parts();
    const bytes_view body[] = {bytes};
    sent_part sent{.etag = {}, .crc = crc32c(bytes), .size = bytes.size()};
    s3_request request{.method = "PUT",
                       .key = key_,
                       .query = {{"partNumber", std::to_string(index + 1)}, {"uploadId", upload_}},
                       .body = body};
    if (checksums_) request.headers.push_back({"x-amz-checksum-crc32c", checksum_text(sent.crc)});
    ZARRPOINT_TRY(answer, to_.demand(request));
    sent.etag = answer.header("ETag");
    const std::lock_guard lock(mutex_);
    sent_[index] = std::move(sent);
    return {};
  }

  void join() {
    for (sender& one : threads_) {
      if (one.thread.joinable()) one.thread.join();
    }
    threads_.clear();
  }

  result<void> complete() {
    join();
    ZARRPOINT_CHECK(failed_);
    if (upload_.empty() && end_ <= part_bytes_) {
      const bytes_view body[] = {parts_.empty() ? bytes_view() : bytes_view(parts_[0].bytes)};
      return to_.put(key_, body, headers_);
    }
    ZARRPOINT_CHECK(begin());
    const std::uint64_t count = (end_ + part_bytes_ - 1) / part_bytes_;
    if (count > 10000) return too_many_parts();
    std::vector<std::uint64_t> left;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!sent_.contains(i)) left.push_back(i);
    }
    ZARRPOINT_CHECK(
        for_each_parallel(left.size(), to_.options().parallel, [&](std::size_t i) -> result<void> {
          const std::uint64_t index = left[i];
          std::vector<std::byte> bytes;
          {
            const std::lock_guard lock(mutex_);
            bytes = std::exchange(parts_[index].bytes, {});
          }
          bytes.resize(static_cast<std::size_t>(
              std::min<std::uint64_t>(part_bytes_, end_ - index * part_bytes_)));
          return send_part(index, bytes);
        }));
    std::string list = "<CompleteMultipartUpload>";
    std::uint32_t crc = 0;
    for (const auto& [index, one] : sent_) {
      crc = crc32c_combine(crc, one.crc, one.size);
      list += "<Part><ETag>" + one.etag + "</ETag><PartNumber>" + std::to_string(index + 1) +
              "</PartNumber></Part>";
    }
    list += "</CompleteMultipartUpload>";
    const bytes_view body[] = {std::as_bytes(std::span(list))};
    s3_request request{
        .method = "POST", .key = key_, .query = {{"uploadId", upload_}}, .body = body};
    if (checksums_) {
      request.headers.push_back({"x-amz-checksum-crc32c", checksum_text(crc)});
      request.headers.push_back({"x-amz-checksum-type", "FULL_OBJECT"});
    }
    ZARRPOINT_TRY(answer, to_.send(request));
    // An upload that is gone was completed by an attempt whose answer was lost, or is not there:
    // then its key may have an older object, of the same size.
    if (answer.status == 404) {
      ZARRPOINT_TRY(head, to_.send({.method = "HEAD", .key = key_}));
      if (head.status == 200 && head.header(mark_header) == mark_) return {};
    }
    // An error may come under the status 200, when it is found after the head was sent.
    s3_problem problem = parse_s3_problem(answer.text);
    if (answer.status == 200 && !problem.code.empty())
      return error{errc::io, "POST " + name() + ": " + printable(problem.code, 80) + " (" +
                                 printable(problem.message, 300) + ')'};
    if (answer.status / 100 != 2) return http_failure(answer, "POST", name());
    return {};
  }

  /// No part stays that somebody would pay for.
  void abandon() {
    join();
    if (upload_.empty()) return;
    static_cast<void>(guarded([&]() -> result<void> {
      ZARRPOINT_CHECK(
          to_.send({.method = "DELETE", .key = key_, .query = {{"uploadId", upload_}}}));
      return {};
    }));
  }

  s3_client to_;
  std::string key_;
  std::vector<http_header> headers_;
  const std::string mark_ = random_id();
  std::uint64_t part_bytes_ =
      std::max<std::uint64_t>(to_.options().part_bytes, std::uint64_t{5} << 20);
  std::uint64_t end_ = 0;
  bool began_ = false;          ///< something was written
  mutable std::mutex mutex_{};  ///< of `parts_`, `sent_`, `end_` and `began_`
  std::map<std::uint64_t, part> parts_{};
  std::map<std::uint64_t, sent_part> sent_{};
  std::mutex begin_mutex_{};
  std::string upload_{};
  bool checksums_ = false;
  std::mutex threads_mutex_{};
  std::condition_variable changed_{};
  unsigned under_way_ = 0;
  result<void> failed_{};
  std::list<sender> threads_{};
  bool finished_ = false;
};

ZARRPOINT_INLINE std::unique_ptr<blob_writer> make_s3_writer(s3_client to, std::string key,
                                                             std::vector<http_header> headers) {
  return make_owned<blob_writer, s3_writer>(std::move(to), std::move(key), std::move(headers));
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/exec/bodies.hpp>
#include <zarrpoint/interop/s3/credentials_bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/store/base/bodies.hpp>
#include <zarrpoint/store/file/file_bodies.hpp>
#include <zarrpoint/store/remote/client_bodies.hpp>
#endif
