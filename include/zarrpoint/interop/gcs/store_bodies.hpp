// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/gcs/gcs_client.hpp>
#include <zarrpoint/interop/gcs/gcs_store.hpp>
#include <zarrpoint/interop/s3/credentials.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ---------------------------------------------------------------------------------- gcs_client.hpp

ZARRPOINT_INLINE result<json> parse_gcs_answer(std::string_view text) {
  auto document =
      parse_json(std::as_bytes(std::span(text)), {.max_bytes = 16 << 20, .max_depth = 16});
  if (document && document->if_object() != nullptr) return document;
  return error{errc::corrupt, "its answer is not a JSON document of Google Cloud Storage"};
}

ZARRPOINT_INLINE result<bucket_listing> parse_gcs_listing(std::string_view document) {
  ZARRPOINT_TRY(page, parse_gcs_answer(document));
  bucket_listing out;
  out.next = text_member(page, "nextPageToken");
  const auto elements = [&](std::string_view name) -> const json::array& {
    static const json::array none;
    const json::array* const all = page.find_array(name);
    return all == nullptr ? none : *all;
  };
  for (const json& one : elements("items")) {
    bucket_listing::object object{.key = text_member(one, "name")};
    if (object.key.empty()) return error{errc::corrupt, "its answer has an object without a name"};
    object.size = whole_number(text_member(one, "size")).value_or(0);
    object.modified = text_member(one, "updated");
    out.objects.push_back(std::move(object));
  }
  for (const json& one : elements("prefixes")) {
    if (const std::string* const text = one.if_string()) out.prefixes.push_back(*text);
  }
  return out;
}

ZARRPOINT_INLINE result<gcs_object> parse_gcs_object(std::string_view document) {
  ZARRPOINT_TRY(found, parse_gcs_answer(document));
  gcs_object out{.generation = text_member(found, "generation"),
                 .crc32c = text_member(found, "crc32c"),
                 .created = text_member(found, "timeCreated")};
  if (const json::object* const all = found.find_object("metadata")) {
    for (const json::member& one : *all) {
      if (const std::string* const text = one.value.if_string())
        out.marks.emplace_back(one.key, *text);
    }
  }
  return out;
}

ZARRPOINT_INLINE std::string_view crc32c_of_hashes(std::string_view header) {
  constexpr std::string_view name = "crc32c=";
  const std::size_t at = header.find(name);
  if (at == header.npos) return {};
  header.remove_prefix(at + name.size());
  return header.substr(0, header.find_first_of(", "));
}

ZARRPOINT_INLINE gcs_client::gcs_client(std::string bucket, any_transport by, gcs_options how,
                                        web_url endpoint)
    : bucket_client(http_client(by, how.retry), settings_of(how)),
      bucket_(std::move(bucket)),
      by_(std::move(by)),
      how_(std::move(how)),
      endpoint_(std::move(endpoint)),
      is_google_(endpoint_.host.ends_with(".googleapis.com")) {}

ZARRPOINT_INLINE result<std::shared_ptr<const gcs_client>> gcs_client::open(std::string_view bucket,
                                                                            any_transport by,
                                                                            gcs_options how) {
  ZARRPOINT_CHECK(check_bucket_name("gs", bucket));
  std::string endpoint = how.endpoint;
  if (endpoint.empty()) {
    endpoint = environment_value("STORAGE_EMULATOR_HOST");
    if (!endpoint.empty() && endpoint.find("://") == endpoint.npos) endpoint.insert(0, "http://");
  }
  if (endpoint.empty()) endpoint = "https://storage.googleapis.com";
  ZARRPOINT_TRY(at, parse_endpoint(endpoint).at("the endpoint of Google Cloud Storage"));
  return make_counted<const gcs_client>(std::string(bucket), std::move(by), std::move(how),
                                        std::move(at));
}

ZARRPOINT_INLINE std::string gcs_client::name_of(std::string_view key) const {
  std::string out = "gs://" + bucket_;
  if (!key.empty()) out.append("/").append(printable(key, 300));
  return out;
}

ZARRPOINT_INLINE std::string gcs_client::json_url(std::string_view begin, std::string_view key,
                                                  const query_list& query) const {
  web_url out = endpoint_;
  out.path.append(begin).append("/storage/v1/b/").append(percent_encode(bucket_)).append("/o");
  if (!key.empty()) out.path.append("/").append(percent_encode(key));
  out.query = canonical_query(query);
  return out.str();
}

ZARRPOINT_INLINE std::string gcs_client::address_of(std::string_view key) const {
  if (!is_xml()) return json_url({}, key, {{"alt", "media"}});
  web_url out = endpoint_;
  out.path += '/' + bucket_ + '/' + percent_encode(key, true);
  return out.str();
}

ZARRPOINT_INLINE std::string gcs_client::shown(std::string_view key) const {
  return name_of(key) + (is_google_ ? std::string() : " of " + endpoint_.shown());
}

ZARRPOINT_INLINE result<void> gcs_client::sign(http_request& request) const {
  if (how_.login.is_anonymous()) return {};
  ZARRPOINT_TRY(keys, how_.login.keys(by_));
  const std::string& project = how_.user_project.empty() ? keys.quota_project : how_.user_project;
  if (!project.empty()) request.headers.push_back({"x-goog-user-project", project});
  if (!keys.access_key.empty()) {
    sign_v4(request, payload_hash(request),
            {.access_key = keys.access_key, .secret_key = keys.secret_key},
            {.region = "auto",
             .service = "storage",
             .now = requests().clock().seconds(),
             .is_google = true});
    return {};
  }
  if (keys.token.empty()) return {};
  if (!may_give_keys(endpoint_))
    return error{
        errc::invalid_argument,
        name_of({}) + ": a token is not sent without TLS; let the endpoint be one of https"};
  request.headers.push_back({"Authorization", "Bearer " + keys.token});
  return {};
}

ZARRPOINT_INLINE result<http_response> gcs_client::send_xml(const bucket_request& what) const {
  web_url url = endpoint_;
  url.path += '/' + bucket_;
  if (!what.key.empty()) url.path += '/' + percent_encode(what.key, true);
  url.query = canonical_query(what.query);
  return send_to(url.str(), what);
}

ZARRPOINT_INLINE error gcs_client::differs(std::string_view action, std::string_view key) const {
  return {errc::corrupt, std::string(action) + ' ' + name_of(key) +
                             ": the CRC-32C of the service is not that of these bytes"};
}

ZARRPOINT_INLINE result<http_response> gcs_client::put_json(const bucket_put& what) const {
  const std::string crc = checksum_text(crc32c_of(what.body)), boundary = "zarrpoint" + random_id();
  std::string head = "--" + boundary + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n";
  head += "{\"name\":";
  write_json_string(head, what.key);
  // The service compares it.
  head += ",\"crc32c\":\"" + crc + '"';
  for (std::size_t i = 0; i < what.marks.size(); ++i) {
    head += i == 0 ? ",\"metadata\":{" : ",";
    write_json_string(head, what.marks[i].first);
    head += ':';
    write_json_string(head, what.marks[i].second);
  }
  if (!what.marks.empty()) head += '}';
  head += "}\r\n--" + boundary + "\r\nContent-Type: application/octet-stream\r\n\r\n";
  const std::string tail = "\r\n--" + boundary + "--\r\n";
  std::vector<bytes_view> body = {std::as_bytes(std::span(head))};
  body.insert(body.end(), what.body.begin(), what.body.end());
  body.push_back(std::as_bytes(std::span(tail)));
  query_list query = {{"fields", "crc32c,generation"}, {"uploadType", "multipart"}};
  if (!what.only.is_any)
    query.emplace_back("ifGenerationMatch", what.only.version.empty() ? "0" : what.only.version);
  ZARRPOINT_TRY(answer,
                send_to(json_url("/upload", {}, query),
                        {.method = "POST",
                         .key = what.key,
                         .headers = {{"Content-Type", "multipart/related; boundary=" + boundary}},
                         .body = body,
                         .maybe_done = what.maybe_done}));
  if (answer.status / 100 == 2) {
    const auto made = parse_gcs_object(answer.text);
    if (!made || made->generation.empty()) return no_etag(name_of(what.key), what.maybe_done);
    if (!made->crc32c.empty() && made->crc32c != crc) return differs("PUT", what.key);
    if (version_of(answer).empty())
      answer.headers.push_back({"x-goog-generation", made->generation});
  }
  return answer;
}

ZARRPOINT_INLINE result<http_response> gcs_client::put_xml(const bucket_put& what) const {
  bucket_request request{
      .method = "PUT",
      .key = what.key,
      .headers = {{"x-goog-hash", "crc32c=" + checksum_text(crc32c_of(what.body))}},
      .body = what.body,
      .maybe_done = what.maybe_done};
  for (const auto& [name, value] : what.marks)
    request.headers.push_back({"x-goog-meta-" + name, value});
  if (!what.only.is_any)
    request.headers.push_back(
        {"x-goog-if-generation-match", what.only.version.empty() ? "0" : what.only.version});
  ZARRPOINT_TRY(answer, send_xml(request));
  if (answer.status / 100 == 2 && version_of(answer).empty() && answer.header("ETag").empty())
    return no_etag(name_of(what.key), what.maybe_done);
  return answer;
}

ZARRPOINT_INLINE result<http_response> gcs_client::put_once(const bucket_put& what) const {
  return is_xml() ? put_xml(what) : put_json(what);
}

ZARRPOINT_INLINE result<void> gcs_client::complete_head(std::string_view key,
                                                        http_response& answer) const {
  if (!answer.header("x-goog-generation").empty() && !answer.header("Last-Modified").empty())
    return {};
  ZARRPOINT_TRY(head,
                send_to(json_url({}, key, {{"fields", "generation,timeCreated"}}), {.key = key}));
  if (head.status != 200) return {};
  ZARRPOINT_TRY(found, parse_gcs_object(head.text).at("GET " + name_of(key)));
  if (answer.header("x-goog-generation").empty())
    answer.headers.push_back({"x-goog-generation", found.generation});
  if (const auto created = parse_iso_time(found.created))
    answer.headers.push_back({"Last-Modified", http_date(*created)});
  return {};
}

ZARRPOINT_INLINE result<http_response> gcs_client::read_once(std::string_view key) const {
  ZARRPOINT_TRY(answer,
                send_to(address_of(key), {.key = key, .text_limit = std::size_t{16} << 20}));
  if (answer.status != 200 || !answer.whole()) return answer;
  const std::string_view crc = crc32c_of_hashes(answer.header("x-goog-hash"));
  const bytes_view body[] = {std::as_bytes(std::span(answer.text))};
  if (!crc.empty() && crc != checksum_text(crc32c_of(body))) return differs("GET", key);
  if (!is_xml()) ZARRPOINT_CHECK(complete_head(key, answer));
  return answer;
}

ZARRPOINT_INLINE result<http_response> gcs_client::erase_once(std::string_view key) const {
  const bucket_request request{.method = "DELETE", .key = key};
  return is_xml() ? send_xml(request) : send_to(json_url({}, key, {}), request);
}

ZARRPOINT_INLINE result<bucket_listing> gcs_client::list_once(std::string_view prefix,
                                                              bool delimited,
                                                              std::string_view after) const {
  bucket_request request{.query = {{"prefix", std::string(prefix)}},
                         .text_limit = std::size_t{16} << 20};
  query_list& query = request.query;
  query.emplace_back(is_xml() ? "list-type" : "fields",
                     is_xml() ? "2" : "items(name,size,updated),nextPageToken,prefixes");
  if (delimited) query.emplace_back("delimiter", "/");
  if (!after.empty()) query.emplace_back(is_xml() ? "continuation-token" : "pageToken", after);
  ZARRPOINT_TRY(answer, is_xml() ? send_xml(request) : send_to(json_url({}, {}, query), request));
  if (answer.status != 200 || !answer.whole()) return http_failure(answer, "list", name_of(prefix));
  return (is_xml() ? parse_s3_listing(answer.text) : parse_gcs_listing(answer.text))
      .at("list " + name_of(prefix));
}

ZARRPOINT_INLINE result<std::optional<std::string>> gcs_client::mark_of(
    std::string_view key, std::string_view name) const {
  ZARRPOINT_TRY(answer, is_xml()
                            ? send_xml({.method = "HEAD", .key = key})
                            : send_to(json_url({}, key, {{"fields", "metadata"}}), {.key = key}));
  if (answer.status == 404) return std::optional<std::string>();
  if (answer.status != 200) return http_failure(answer, "look at", name_of(key));
  if (is_xml())
    return std::optional(std::string(answer.header("x-goog-meta-" + std::string(name))));
  ZARRPOINT_TRY(found, parse_gcs_object(answer.text).at("look at " + name_of(key)));
  for (auto& [mark, value] : found.marks) {
    if (mark == name) return std::optional(std::move(value));
  }
  return std::optional(std::string());
}

ZARRPOINT_INLINE result<void> gcs_client::check_parts(std::string_view key,
                                                      const http_response& answer,
                                                      std::uint32_t crc) const {
  std::string is(crc32c_of_hashes(answer.header("x-goog-hash")));
  if (is.empty()) {
    ZARRPOINT_TRY(head, send_xml({.method = "HEAD", .key = key}));
    is = crc32c_of_hashes(head.header("x-goog-hash"));
  }
  if (!is.empty() && is != checksum_text(crc)) return differs("POST", key);
  return {};
}

ZARRPOINT_INLINE std::unique_ptr<part_upload> gcs_client::upload(std::string key,
                                                                 query_list marks) const {
  return make_xml_upload(
      {.client = this,
       .meta = "x-goog-meta-",
       .send = [this](const bucket_request& what) { return send_xml(what); },
       .check = [this](std::string_view of, const http_response& answer,
                       std::uint32_t crc) { return check_parts(of, answer, crc); },
       .may_be_without = !is_google_ && !is_xml()},
      std::move(key), std::move(marks));
}

ZARRPOINT_INLINE std::string gcs_client::version_of(const http_response& answer) const {
  return std::string(answer.header("x-goog-generation"));
}

}  // namespace detail

// ----------------------------------------------------------------------------------- gcs_store.hpp

ZARRPOINT_INLINE result<gcs_store> gcs_store::open(std::string_view address, any_transport by,
                                                   gcs_options how) {
  ZARRPOINT_TRY(at, detail::parse_bucket_address("gs", address));
  ZARRPOINT_TRY(client, detail::gcs_client::open(at.bucket, std::move(by), std::move(how)));
  return gcs_store(std::move(client), at.key);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/interop/gcs/login_bodies.hpp>
#include <zarrpoint/interop/s3/bucket_bodies.hpp>
#include <zarrpoint/interop/s3/bucket_store_bodies.hpp>
#include <zarrpoint/interop/s3/credentials_bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/store/file/file_bodies.hpp>
#include <zarrpoint/store/remote/bodies.hpp>
#include <zarrpoint/store/remote/client_bodies.hpp>
#include <zarrpoint/zarr/json/bodies.hpp>
#endif
