// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/gcs.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zp = zarrpoint;

namespace test {

/// Which service it is: S3, or Google Cloud Storage as it is asked by JSON or by XML.
enum class bucket_kind : std::uint8_t { s3, gcs, gcs_xml };
/// Of servers that are made from now on.
inline bucket_kind made_kind = bucket_kind::s3;
template <bucket_kind Kind>
struct made_of {
  made_of() { made_kind = Kind; }
  made_of(const made_of&) = delete;
  made_of& operator=(const made_of&) = delete;
  ~made_of() { made_kind = bucket_kind::s3; }
};

/// What such a server does that others do not.
struct fake_s3_rules {
  bucket_kind kind = made_kind;
  bool parts = true;         ///< Google's: has uploads in parts
  bool tells_head = true;    ///< Google's: has generation and date in the head of an answer
  bool wrong_crc = false;    ///< Google's: tells another checksum
  bool conditions = true;    ///< keeps If-None-Match and If-Match
  bool quoted_etags = true;  ///< takes them as it gives them; else without quotation marks only
  bool checksums = true;     ///< else refuses them
  bool ranges = true;        ///< else sends all
  bool copies = true;        ///< copies objects itself
  std::size_t page = 1000;   ///< keys of a page of a list
  std::string region{};      ///< of the bucket, where requests must be signed for it
};

/// One bucket `bucket` at `http://fake/bucket`, in memory, as a transport: the published rules of
/// S3 and of Google Cloud Storage for objects, conditions, lists, parts and checksums. Copies are
/// the same bucket. What is asked by JSON is called as XML would have it.
class fake_s3 {
 public:
  struct object {
    std::string bytes;
    std::string etag;
    std::int64_t modified = 0;
    std::map<std::string, std::string> meta{};
    std::uint64_t generation = 7;
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
    std::uint64_t generations = 1'795'879'467'000'000;
    int signatures = 0;          ///< requests that were signed
    std::uint64_t received = 0;  ///< bytes of bodies
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
    std::string key = zp::percent_decode(url.path).value(), method = request.method;
    const bool is_json = url.path.find("/storage/v1/b/bucket/o") != std::string::npos;
    const std::string root = is_json ? "/storage/v1/b/bucket/o" : "/bucket";
    std::string query = url.query;
    std::string body;
    for (const auto part : request.body) body += zp::as_text(part);
    zp::json document;
    if (is_json && key == "/upload" + root) {
      const std::size_t begin = body.find('{'), end = body.find("\r\n--", begin);
      document = zp::parse_json(std::as_bytes(std::span(body).subspan(begin, end - begin))).value();
      body.erase(0, body.find("\r\n\r\n", end) + 4);
      body.erase(body.rfind("\r\n--", body.size() - 4));
      key = *document.find("name")->if_string();
      method = "PUT";
    } else {
      if (url.host == "fake") {
        if (!key.starts_with(root))
          return answer(request, 404, "<Error><Code>NoSuchBucket</Code></Error>");
        key.erase(0, root.size());
      }
      key.erase(0, 1);
      if (is_json && method == "GET" && !key.empty() && !has(query, "alt")) method = "HEAD";
    }
    if (is_json && !key.empty()) query.clear();
    const std::string what = method + ' ' + key + (query.empty() ? "" : "?" + query);
    if (state_->before) state_->before(what);
    const std::lock_guard lock(state_->mutex);
    state_->log.push_back(what);
    if (zp::find_header(request.headers, "authorization") != nullptr) ++state_->signatures;
    if (state_->instead) {
      if (auto other = state_->instead(what); other.status != 0) return other;
    }
    auto out = is_json ? handle_json({request, url.query, method}, key, {document, body})
                       : handle(request, key, url.query);
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
  struct json_request {
    const zp::http_request& request;
    std::string_view query;
    std::string_view method;
  };

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
    s.received += body.size();
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
      if (!s.rules.parts) return problem(request, 404, "NotFound");
      const std::string id = "upload" + std::to_string(++s.numbers);
      s.uploads[id] = {key, {}, meta_of(request)};
      return answer(request, 200,
                    "<InitiateMultipartUploadResult><UploadId>" + id +
                        "</UploadId></InitiateMultipartUploadResult>");
    }
    if (has(query, "uploadId")) return part(request, key, query, body);
    const auto at = s.objects.find(key);
    const bool there = at != s.objects.end();
    if (const std::string from = header(request, "x-amz-copy-source"); !from.empty()) {
      const auto source = s.objects.find(zp::percent_decode(from).value().substr(8));
      if (!s.rules.copies) return problem(request, 501, "NotImplemented");
      if (source == s.objects.end()) return problem(request, 404, "NoSuchKey");
      if (header(request, "x-amz-copy-source-if-match") != source->second.etag)
        return problem(request, 412, "PreconditionFailed");
      const bool replaces = header(request, "x-amz-metadata-directive") == "REPLACE";
      const object copied = source->second;
      store(request, key, copied.bytes, replaces ? meta_of(request) : copied.meta);
      return answer(request, 200, "<CopyObjectResult/>");
    }
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
        const std::string wanted = header(request, "x-goog-if-generation-match");
        if (!wanted.empty() && wanted != std::to_string(there ? at->second.generation : 0))
          return problem(request, 412, "PreconditionFailed");
      }
      const std::string hash = header(request, "x-goog-hash");
      if (!hash.empty() && hash != "crc32c=" + crc_text(body))
        return problem(request, 400, "BadDigest");
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
      if (one.name.starts_with("x-amz-meta-") || one.name.starts_with("x-goog-meta-"))
        out[one.name] = one.value;
    }
    return out;
  }

  zp::http_response store(const zp::http_request& request, const std::string& key,
                          const std::string& body, std::map<std::string, std::string> meta) const {
    state& s = *state_;
    const std::string etag =
        '"' + zp::detail::to_hex(zp::detail::sha256_of(body)).substr(0, 32) + '"';
    s.objects[key] = {body, etag, s.now, std::move(meta), ++s.generations};
    std::vector<zp::http_header> headers{{"ETag", etag}};
    if (s.rules.kind != bucket_kind::s3)
      headers.push_back({"x-goog-generation", std::to_string(s.generations)});
    return answer(request, 200, "", std::move(headers));
  }

  /// A list, what an object says of itself, a put or a removal, as JSON has them.
  zp::http_response handle_json(const json_request& asked, const std::string& key,
                                const std::pair<const zp::json&, const std::string&>& put) const {
    const auto& [request, query, method] = asked;
    state& s = *state_;
    const auto fail = [&](int status) {
      return answer(request, status,
                    R"({"error":{"code":)" + std::to_string(status) + R"(,"message":"of it"}})");
    };
    if (key.empty()) return list_json(request, query);
    const auto at = s.objects.find(key);
    const bool there = at != s.objects.end();
    if (method == "PUT") {
      const auto& [document, body] = put;
      const zp::json* const crc = document.find("crc32c");
      if (crc != nullptr && *crc->if_string() != crc_text(body)) return fail(400);
      if (s.rules.conditions && has(query, "ifGenerationMatch") &&
          parameter(query, "ifGenerationMatch") !=
              std::to_string(there ? at->second.generation : 0))
        return fail(412);
      std::map<std::string, std::string> meta;
      if (const zp::json* const marks = document.find("metadata")) {
        for (const auto& one : *marks->if_object())
          meta["x-goog-meta-" + one.key] = *one.value.if_string();
      }
      store(request, key, body, std::move(meta));
      return answer(request, 200, about(s.objects[key]));
    }
    if (!there) return fail(404);
    if (method == "GET") return get(request, at->second);
    if (method == "HEAD") return answer(request, 200, about(at->second));
    s.objects.erase(at);
    return answer(request, 204, "");
  }

  std::string about(const object& of) const {
    std::string out = R"({"kind":"storage#object","generation":")" + std::to_string(of.generation) +
                      R"(","crc32c":")" +
                      crc_text(state_->rules.wrong_crc ? of.bytes + "x" : of.bytes) +
                      R"(","timeCreated":"2027-01-15T08:00:00.000Z","metadata":{)";
    const char* comma = "";
    for (const auto& [name, value] : of.meta) {
      out += std::exchange(comma, ",") + ('"' + name.substr(name.find("meta-") + 5) + "\":\"");
      out += value + '"';
    }
    return out + "}}";
  }

  zp::http_response list_json(const zp::http_request& request, std::string_view query) const {
    const std::string prefix = parameter(query, "prefix"),
                      delimiter = parameter(query, "delimiter");
    std::map<std::string, const object*> found;
    for (const auto& [key, one] : state_->objects) {
      if (!key.starts_with(prefix)) continue;
      const std::size_t slash = delimiter.empty() ? key.npos : key.find('/', prefix.size());
      found.emplace(slash == key.npos ? key : key.substr(0, slash + 1),
                    slash == key.npos ? &one : nullptr);
    }
    std::string items, prefixes, last;
    std::size_t count = 0;
    for (const auto& [name, one] : found) {
      if (name <= parameter(query, "pageToken")) continue;
      if (count == state_->rules.page) break;
      ++count;
      last = name;
      std::string text;
      for (const char c : name)
        text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
      if (one == nullptr) {
        prefixes += (prefixes.empty() ? "\"" : ",\"") + text + '"';
      } else {
        items += (items.empty() ? "" : ",") + (R"({"name":")" + text + R"(","size":")") +
                 std::to_string(one->bytes.size()) + R"("})";
      }
    }
    std::string out = R"({"kind":"storage#objects")";
    if (!items.empty()) out += R"(,"items":[)" + items + ']';
    if (!prefixes.empty()) out += R"(,"prefixes":[)" + prefixes + ']';
    if (!found.empty() && !last.empty() && last != found.rbegin()->first)
      out += R"(,"nextPageToken":")" + last + '"';
    return answer(request, 200, out + '}');
  }

  zp::http_response get(const zp::http_request& request, const object& of) const {
    std::vector<zp::http_header> headers = {{"ETag", of.etag}};
    if (state_->rules.tells_head) headers.push_back({"Last-Modified", zp::http_date(of.modified)});
    if (state_->rules.kind != bucket_kind::s3 && state_->rules.tells_head) {
      headers.push_back({"x-goog-generation", std::to_string(of.generation)});
      headers.push_back(
          {"x-goog-hash",
           "crc32c=" + crc_text(state_->rules.wrong_crc ? of.bytes + "x" : of.bytes) + ",md5=x"});
    }
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
    const bool from_end = range.starts_with("bytes=-");
    const std::size_t left = std::stoul(range.substr(from_end ? 7 : 6));
    const std::size_t first = from_end ? of.bytes.size() - std::min(left, of.bytes.size()) : left;
    if (first >= of.bytes.size()) {
      headers.push_back({"Content-Range", "bytes */" + std::to_string(of.bytes.size())});
      return answer(request, 416, "", std::move(headers));
    }
    const std::size_t last =
        std::min(of.bytes.size() - 1,
                 from_end ? of.bytes.size() - 1 : std::stoul(range.substr(range.find('-') + 1)));
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

inline zp::gcs_options fake_gcs_options(const fake_s3& of) {
  zp::gcs_options out{.endpoint = "https://fake",
                      .login = of->rules.kind == bucket_kind::gcs
                                   ? zp::gcs_login::token("T")
                                   : zp::gcs_login::hmac("GOOGA", "s")};
  out.retry.clock = std::make_shared<fake_s3_clock>(of);
  return out;
}

/// The same place in the service that it is.
inline zp::bucket_store open_fake_place(const fake_s3& of, bool single_writer = false,
                                        std::string_view key = "model.zarr") {
  if (of->rules.kind == bucket_kind::s3) {
    auto how = fake_s3_options(of);
    how.single_writer = single_writer;
    return zp::s3_store::open("s3://bucket/" + std::string(key), of, how).value();
  }
  auto how = fake_gcs_options(of);
  how.single_writer = single_writer;
  return zp::gcs_store::open("gs://bucket/" + std::string(key), of, how).value();
}

inline zp::s3_store open_fake_s3(const fake_s3& of, std::string_view key = "model.zarr") {
  return zp::s3_store::open("s3://bucket/" + std::string(key), of, fake_s3_options(of)).value();
}

}  // namespace test
