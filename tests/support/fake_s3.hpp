// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/s3.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zp = zarrpoint;

namespace test {

/// What such a server does that others do not.
struct fake_s3_rules {
  bool conditions = true;    ///< keeps If-None-Match and If-Match
  bool quoted_etags = true;  ///< takes them as it gives them; else without quotation marks only
  bool checksums = true;     ///< else refuses them
  bool ranges = true;        ///< else sends all
  std::size_t page = 1000;   ///< keys of a page of a list
  std::string region{};      ///< of the bucket, where requests must be signed for it
};

/// One bucket `bucket` at `http://fake/bucket`, in memory, as a transport: the published rules of
/// S3 for objects, conditions, lists, parts and checksums. Copies are the same bucket.
class fake_s3 {
 public:
  struct object {
    std::string bytes;
    std::string etag;
    std::int64_t modified = 0;
    std::map<std::string, std::string> meta{};
  };
  struct state {
    std::mutex mutex{};
    fake_s3_rules rules{};
    std::int64_t now = 1'800'000'000;  ///< seconds since 1970
    std::map<std::string, object> objects{};
    struct upload {
      std::string key;
      std::map<int, std::string> parts{};
      std::map<std::string, std::string> meta{};
    };
    std::map<std::string, upload> uploads{};
    std::vector<std::string> log{};  ///< `PUT key`
    int numbers = 0;
    int signatures = 0;  ///< requests that were signed
    /// Called before a request is done, and after it: an error in place of its answer, or none.
    std::function<void(const std::string& what)> before{};
    std::function<bool(const std::string& what)> is_lost{};
    /// An answer in place of the server's own, where its status is not 0.
    std::function<zp::http_response(const std::string& what)> instead{};
  };

  fake_s3() = default;
  state& operator*() const { return *state_; }
  state* operator->() const { return state_.get(); }

  zp::result<zp::http_response> send(const zp::http_request& request) const {
    const auto url = zp::web_url::parse(request.url).value();
    std::string key = zp::percent_decode(url.path).value();
    const std::string root = url.host == "fake" ? "/bucket/" : "/";
    if (!key.starts_with(root))
      return answer(request, 404, "<Error><Code>NoSuchBucket</Code></Error>");
    key.erase(0, root.size());
    const std::string what =
        request.method + ' ' + key + (url.query.empty() ? "" : "?" + url.query);
    if (state_->before) state_->before(what);
    const std::lock_guard lock(state_->mutex);
    state_->log.push_back(what);
    if (zp::find_header(request.headers, "authorization") != nullptr) ++state_->signatures;
    if (state_->instead) {
      if (auto other = state_->instead(what); other.status != 0) return other;
    }
    auto out = handle(request, key, url.query);
    if (state_->is_lost && state_->is_lost(what))
      return zp::error{zp::errc::unavailable, "the connection was reset"};
    return out;
  }

  std::vector<std::string> keys() const {
    const std::lock_guard lock(state_->mutex);
    std::vector<std::string> out;
    for (const auto& [key, one] : state_->objects) out.push_back(key);
    return out;
  }

 private:
  static zp::http_response answer(const zp::http_request& request, int status,
                                  std::string_view body,
                                  std::vector<zp::http_header> headers = {}) {
    zp::http_receiver to(request);
    to.begin(status);
    for (const auto& one : headers) to.header(one.name, one.value);
    if (request.method != "HEAD") {
      to.header("Content-Length", std::to_string(body.size()));
      to.body(std::as_bytes(std::span(body)));
    }
    return to.finish().value();
  }
  static zp::http_response problem(const zp::http_request& request, int status,
                                   const std::string& code) {
    return answer(request, status,
                  "<Error><Code>" + code + "</Code><Message>of the fake</Message></Error>",
                  {{"x-amz-request-id", "REQ1"}});
  }
  static std::string parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
      const std::string_view one = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(one.size() + 1, query.size()));
      if (one.substr(0, one.find('=')) == name)
        return zp::percent_decode(one.substr(one.find('=') + 1)).value();
    }
    return {};
  }
  static bool has(std::string_view query, const std::string& name) {
    return ("&" + std::string(query)).find("&" + name + "=") != std::string::npos;
  }
  static std::string header(const zp::http_request& request, std::string_view name) {
    const std::string* found = zp::find_header(request.headers, name);
    return found == nullptr ? std::string() : *found;
  }
  static std::string crc_text(std::string_view bytes) {
    const std::uint32_t crc = zp::crc32c(std::as_bytes(std::span(bytes)));
    const std::byte big[] = {std::byte(crc >> 24), std::byte(crc >> 16), std::byte(crc >> 8),
                             std::byte(crc)};
    return zp::detail::to_base64(big);
  }
  static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '&') {
        out += "&amp;";
      } else if (c == '<') {
        out += "&lt;";
      } else {
        out += c;
      }
    }
    return out;
  }

  zp::http_response handle(const zp::http_request& request, const std::string& key,
                           const std::string& query) const {
    state& s = *state_;
    std::string body;
    for (const auto part : request.body) body += zp::as_text(part);
    if (!s.rules.region.empty() &&
        header(request, "authorization").find("/" + s.rules.region + "/") == std::string::npos) {
      auto out = problem(request, 301, "PermanentRedirect");
      out.headers.push_back({"x-amz-bucket-region", s.rules.region});
      return out;
    }
    const bool sends_checksum = !header(request, "x-amz-checksum-crc32c").empty() ||
                                !header(request, "x-amz-checksum-algorithm").empty();
    if (sends_checksum && !s.rules.checksums) return problem(request, 501, "NotImplemented");
    if (key.empty()) return list(request, query);
    if (request.method == "POST" && has(query, "uploads")) {
      const std::string id = "upload" + std::to_string(++s.numbers);
      s.uploads[id] = {key, {}, meta_of(request)};
      return answer(request, 200,
                    "<InitiateMultipartUploadResult><UploadId>" + id +
                        "</UploadId></InitiateMultipartUploadResult>");
    }
    if (has(query, "uploadId")) return part(request, key, query, body);
    const auto at = s.objects.find(key);
    const bool there = at != s.objects.end();
    if (request.method == "PUT") {
      const std::string crc = header(request, "x-amz-checksum-crc32c");
      if (!crc.empty() && crc != crc_text(body)) return problem(request, 400, "BadDigest");
      if (s.rules.conditions) {
        if (header(request, "if-none-match") == "*" && there)
          return problem(request, 412, "PreconditionFailed");
        if (const std::string wanted = header(request, "if-match"); !wanted.empty()) {
          if (!there) return problem(request, 404, "NoSuchKey");
          std::string etag = at->second.etag;
          if (!s.rules.quoted_etags) etag = etag.substr(1, etag.size() - 2);
          if (wanted != etag) return problem(request, 412, "PreconditionFailed");
        }
      }
      return store(request, key, body, meta_of(request));
    }
    if (request.method == "DELETE") {
      s.objects.erase(key);
      return answer(request, 204, "");
    }
    if (!there) return problem(request, 404, "NoSuchKey");
    return get(request, at->second);
  }

  static std::map<std::string, std::string> meta_of(const zp::http_request& request) {
    std::map<std::string, std::string> out;
    for (const auto& one : request.headers) {
      if (one.name.starts_with("x-amz-meta-")) out[one.name] = one.value;
    }
    return out;
  }

  zp::http_response store(const zp::http_request& request, const std::string& key,
                          const std::string& body, std::map<std::string, std::string> meta) const {
    state& s = *state_;
    const std::string etag =
        '"' + zp::detail::to_hex(zp::detail::sha256_of(body)).substr(0, 32) + '"';
    s.objects[key] = {body, etag, s.now, std::move(meta)};
    return answer(request, 200, "", {{"ETag", etag}});
  }

  zp::http_response get(const zp::http_request& request, const object& of) const {
    std::vector<zp::http_header> headers = {{"ETag", of.etag},
                                            {"Last-Modified", zp::http_date(of.modified)}};
    for (const auto& [name, value] : of.meta) headers.push_back({name, value});
    if (const std::string wanted = header(request, "if-match");
        !wanted.empty() && wanted != of.etag)
      return problem(request, 412, "PreconditionFailed");
    if (request.method == "HEAD") {
      headers.push_back({"Content-Length", std::to_string(of.bytes.size())});
      return answer(request, 200, "", std::move(headers));
    }
    const std::string range = header(request, "range");
    if (range.empty() || !state_->rules.ranges) return answer(request, 200, of.bytes, headers);
    const std::size_t first = std::stoul(range.substr(6));
    if (first >= of.bytes.size()) {
      headers.push_back({"Content-Range", "bytes */" + std::to_string(of.bytes.size())});
      return answer(request, 416, "", std::move(headers));
    }
    const std::size_t last =
        std::min(of.bytes.size() - 1, std::stoul(range.substr(range.find('-') + 1)));
    headers.push_back({"Content-Range", "bytes " + std::to_string(first) + "-" +
                                            std::to_string(last) + "/" +
                                            std::to_string(of.bytes.size())});
    return answer(request, 206, std::string_view(of.bytes).substr(first, last + 1 - first),
                  std::move(headers));
  }

  zp::http_response part(const zp::http_request& request, const std::string& key,
                         const std::string& query, const std::string& body) const {
    state& s = *state_;
    const std::string id = parameter(query, "uploadId");
    const auto at = s.uploads.find(id);
    if (at == s.uploads.end() || at->second.key != key)
      return problem(request, 404, "NoSuchUpload");
    if (request.method == "DELETE") {
      s.uploads.erase(at);
      return answer(request, 204, "");
    }
    const std::string crc = header(request, "x-amz-checksum-crc32c");
    if (request.method == "PUT") {
      if (!crc.empty() && crc != crc_text(body)) return problem(request, 400, "BadDigest");
      at->second.parts[std::stoi(parameter(query, "partNumber"))] = body;
      return answer(request, 200, "", {{"ETag", "\"part\""}});
    }
    std::string whole;
    int next = 1;
    for (const auto& [number, bytes] : at->second.parts) {
      if (number != next++) return problem(request, 400, "InvalidPart");
      const bool is_last = static_cast<std::size_t>(number) == at->second.parts.size();
      if (!is_last && bytes.size() < std::size_t{5} << 20)
        return problem(request, 400, "EntityTooSmall");
      whole += bytes;
    }
    if (!crc.empty() &&
        (crc != crc_text(whole) || header(request, "x-amz-checksum-type") != "FULL_OBJECT"))
      return problem(request, 400, "BadDigest");
    auto meta = at->second.meta;
    s.uploads.erase(at);
    store(request, key, whole, std::move(meta));
    return answer(request, 200, "<CompleteMultipartUploadResult/>");
  }

  zp::http_response list(const zp::http_request& request, const std::string& query) const {
    state& s = *state_;
    const std::string prefix = parameter(query, "prefix"),
                      delimiter = parameter(query, "delimiter");
    std::string after = parameter(query, "continuation-token");
    std::string out = "<ListBucketResult>";
    std::size_t count = 0;
    bool more = false;
    std::string last;
    for (const auto& [key, one] : s.objects) {
      if (!key.starts_with(prefix) || key <= after) continue;
      const std::size_t slash = delimiter.empty() ? key.npos : key.find('/', prefix.size());
      const std::string name = slash == key.npos ? key : key.substr(0, slash + 1);
      if (!last.empty() && name == last) continue;
      if (slash != key.npos && !after.empty() && after.starts_with(name)) continue;
      if (count == s.rules.page) {
        more = true;
        break;
      }
      ++count;
      last = name;
      after = slash == key.npos ? key : name + "\xff";
      out += slash == key.npos
                 ? "<Contents><Key>" + escaped(key) + "</Key><Size>" +
                       std::to_string(one.bytes.size()) + "</Size></Contents>"
                 : "<CommonPrefixes><Prefix>" + escaped(name) + "</Prefix></CommonPrefixes>";
    }
    out += more ? "<IsTruncated>true</IsTruncated><NextContinuationToken>" + escaped(after) +
                      "</NextContinuationToken>"
                : "<IsTruncated>false</IsTruncated>";
    return answer(request, 200, out + "</ListBucketResult>");
  }

  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Time that passes when somebody waits for it.
class fake_s3_clock final : public zp::retry_clock {
 public:
  explicit fake_s3_clock(fake_s3 of) : of_(std::move(of)) {}
  time now() const override { return time(std::chrono::seconds(of_->now)); }
  void wait(std::chrono::milliseconds, const zp::stop_token&) const override {}
  double random() const override { return 0.5; }
  std::int64_t seconds() const override { return of_->now; }

 private:
  fake_s3 of_;
};

inline zp::s3_options fake_s3_options(const fake_s3& of) {
  zp::s3_options out{.endpoint = "http://fake",
                     .region = "us-east-1",
                     .login = zp::aws_login::given({.access_key = "A", .secret_key = "s"})};
  out.retry.clock = std::make_shared<fake_s3_clock>(of);
  return out;
}

inline zp::s3_store open_fake_s3(const fake_s3& of, std::string_view key = "model.zarr") {
  return zp::s3_store::open("s3://bucket/" + std::string(key), of, fake_s3_options(of)).value();
}

}  // namespace test
