// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/s3/s3_client.hpp>
#include <zarrpoint/interop/s3/sha256.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ----------------------------------------------------------------------------------- s3_client.hpp

ZARRPOINT_INLINE s3_client::s3_client(std::string bucket, any_transport by, s3_options how,
                                      web_url endpoint)
    : bucket_client(http_client(by, how.retry), settings_of(how)),
      bucket_(std::move(bucket)),
      by_(std::move(by)),
      how_(std::move(how)),
      endpoint_(std::move(endpoint)),
      region_(how_.region.empty() ? aws_region({}) : how_.region) {}

ZARRPOINT_INLINE result<std::shared_ptr<const s3_client>> s3_client::open(std::string_view bucket,
                                                                          any_transport by,
                                                                          s3_options how) {
  ZARRPOINT_CHECK(check_bucket_name("s3", bucket));
  std::string endpoint = how.endpoint;
  for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    if (endpoint.empty()) endpoint = environment_value(name);
  }
  web_url at;
  if (!endpoint.empty()) {
    ZARRPOINT_TRY(parsed, parse_endpoint(endpoint).at("the endpoint of S3"));
    at = std::move(parsed);
  }
  return make_counted<const s3_client>(std::string(bucket), std::move(by), std::move(how),
                                       std::move(at));
}

ZARRPOINT_INLINE std::string s3_client::region() const {
  const std::lock_guard lock(mutex_);
  return region_;
}

ZARRPOINT_INLINE std::string s3_client::name_of(std::string_view key) const {
  std::string out = "s3://" + bucket_;
  if (!key.empty()) out.append("/").append(printable(key, 300));
  return out;
}

ZARRPOINT_INLINE web_url s3_client::url_of(std::string_view key) const {
  web_url out = endpoint_;
  const bool has_dot = bucket_.find('.') != bucket_.npos;
  const bool in_path = how_.path_style.value_or(!out.host.empty() || has_dot);
  if (out.host.empty()) {
    const std::string where = region();
    out.scheme = "https";
    out.host = "s3." + where + (where.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  }
  if (in_path) {
    out.path += '/' + bucket_;
  } else {
    out.host = bucket_ + '.' + out.host;
  }
  out.path += '/' + percent_encode(key, true);
  return out;
}

ZARRPOINT_INLINE result<void> s3_client::sign(http_request& request) const {
  if (how_.requester_pays) request.headers.push_back({"x-amz-request-payer", "requester"});
  if (how_.login.is_anonymous()) return {};
  ZARRPOINT_TRY(keys, how_.login.keys(by_));
  const std::string where = region();
  sign_v4(request, payload_hash(request), keys,
          {.region = where, .now = requests().clock().seconds()});
  return {};
}

ZARRPOINT_INLINE result<std::string> s3_client::presign(std::string_view key,
                                                        std::int64_t seconds) const {
  ZARRPOINT_TRY(keys, how_.login.keys(by_));
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
  const std::lock_guard lock(mutex_);
  region_ = std::move(named);
  return true;
}

ZARRPOINT_INLINE result<http_response> s3_client::send(const bucket_request& what) const {
  for (int hop = 0;; ++hop) {
    const std::string asked = region();
    web_url url = url_of(what.key);
    url.query = canonical_query(what.query);
    ZARRPOINT_TRY(answer, send_to(url.str(), what));
    if (hop == 1 || !learn_region(answer, asked)) return std::move(answer);
  }
}

ZARRPOINT_INLINE result<http_response> s3_client::read_once(std::string_view key) const {
  return send({.key = key, .text_limit = std::size_t{16} << 20});
}

ZARRPOINT_INLINE result<http_response> s3_client::erase_once(std::string_view key) const {
  return send({.method = "DELETE", .key = key});
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
  checksums_ = false;
  return true;
}

ZARRPOINT_INLINE result<http_response> s3_client::put_once(const bucket_put& what) const {
  for (;;) {
    bucket_request request{
        .method = "PUT", .key = what.key, .body = what.body, .maybe_done = what.maybe_done};
    for (const auto& [name, value] : what.marks)
      request.headers.push_back({"x-amz-meta-" + name, value});
    if (!what.only.is_any)
      request.headers.push_back(what.only.version.empty()
                                    ? http_header{"If-None-Match", "*"}
                                    : http_header{"If-Match", what.only.version});
    // What a put is looked up by is small: it goes without.
    const bool with_checksum = checksums_ && what.maybe_done == nullptr;
    if (with_checksum)
      request.headers.push_back({"x-amz-checksum-crc32c", checksum_text(crc32c_of(what.body))});
    ZARRPOINT_TRY(answer, send(request));
    if (answer.status / 100 == 2 && answer.header("ETag").empty())
      return no_etag(name_of(what.key), what.maybe_done);
    if (!with_checksum || answer.status / 100 == 2 || !refuses_checksums(answer))
      return std::move(answer);
  }
}

ZARRPOINT_INLINE result<bool> s3_client::copy(std::string_view from, std::string_view to,
                                              const query_list& marks,
                                              const blob_version& of) const {
  ZARRPOINT_TRY(head, send({.method = "HEAD", .key = from}));
  const std::string etag(head.header("ETag"));
  if (head.status != 200 || !is_version_of(of, etag)) return false;
  bucket_request request{.method = "PUT", .key = to};
  request.headers.push_back({"x-amz-copy-source-if-match", etag});
  request.headers.push_back(
      {"x-amz-copy-source", '/' + bucket_ + '/' + percent_encode(from, true)});
  request.headers.push_back({"x-amz-metadata-directive", "REPLACE"});
  for (const auto& [name, value] : marks) request.headers.push_back({"x-amz-meta-" + name, value});
  ZARRPOINT_TRY(answer, send(request));
  // What failed once it had begun is told under 200, too. A server without copies has put nothing.
  if (answer.status == 200 && answer.text.find("<CopyObjectResult") != std::string::npos)
    return true;
  if (answer.status / 100 == 2) ZARRPOINT_CHECK(erase(to));
  return false;
}

ZARRPOINT_INLINE result<bucket_listing> s3_client::list_once(std::string_view prefix,
                                                             bool delimited,
                                                             std::string_view after) const {
  bucket_request request{.query = {{"list-type", "2"}, {"prefix", std::string(prefix)}},
                         .text_limit = std::size_t{16} << 20};
  if (delimited) request.query.emplace_back("delimiter", "/");
  if (!after.empty()) request.query.emplace_back("continuation-token", after);
  ZARRPOINT_TRY(answer, send(request));
  if (answer.status != 200 || !answer.whole()) return http_failure(answer, "list", name_of(prefix));
  return parse_s3_listing(answer.text).at("list " + name_of(prefix));
}

ZARRPOINT_INLINE result<std::optional<std::string>> s3_client::mark_of(
    std::string_view key, std::string_view name) const {
  ZARRPOINT_TRY(answer, send({.method = "HEAD", .key = key}));
  if (answer.status == 404) return std::optional<std::string>();
  if (answer.status != 200) return http_failure(answer, "HEAD", name_of(key));
  return std::optional(std::string(answer.header("x-amz-meta-" + std::string(name))));
}

ZARRPOINT_INLINE std::unique_ptr<part_upload> s3_client::upload(std::string key,
                                                                query_list marks) const {
  return make_xml_upload(
      {.client = this,
       .meta = "x-amz-meta-",
       .send = [this](const bucket_request& what) { return send(what); },
       .checksums = [this] { return checksums_.load(); },
       .refuses = [this](const http_response& answer) { return refuses_checksums(answer); }},
      std::move(key), std::move(marks));
}

ZARRPOINT_INLINE std::string s3_client::version_of(const http_response& answer) const {
  return std::string(answer.header("ETag"));
}

ZARRPOINT_INLINE std::string s3_client::no_version() const {
  return "\"00000000000000000000000000000000\"";
}

ZARRPOINT_INLINE std::string s3_client::other_form(const std::string& version) const {
  return version.size() < 3 || version.front() != '"' ? std::string()
                                                      : version.substr(1, version.size() - 2);
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/interop/s3/bucket_bodies.hpp>
#include <zarrpoint/interop/s3/credentials_bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/store/remote/bodies.hpp>
#include <zarrpoint/store/remote/client_bodies.hpp>
#endif
