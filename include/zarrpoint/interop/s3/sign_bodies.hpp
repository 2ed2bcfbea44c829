// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/s3/sha256.hpp>
#include <zarrpoint/interop/s3/sigv4.hpp>
#include <zarrpoint/interop/s3/xml_reader.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace zarrpoint { inline namespace v0 {
namespace detail {

// -------------------------------------------------------------------------------------- sha256.hpp

inline constexpr std::uint32_t sha256_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

ZARRPOINT_INLINE sha256::sha256() noexcept
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

ZARRPOINT_INLINE void sha256::block(const std::byte* at) noexcept {
  std::uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    w[i] = 0;
    for (int k = 0; k < 4; ++k) w[i] = w[i] << 8 | static_cast<std::uint32_t>(at[4 * i + k]);
  }
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto s = state_;
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t e = s[4], a = s[0];
    const std::uint32_t one = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                              ((e & s[5]) ^ (~e & s[6])) + sha256_rounds[i] + w[i];
    const std::uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                              ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state_[i] += s[i];
}

ZARRPOINT_INLINE void sha256::add(bytes_view bytes) noexcept {
  const std::size_t waits = size_ % 64;
  size_ += bytes.size();
  if (waits + bytes.size() < 64) {
    if (!bytes.empty()) std::memcpy(waiting_.data() + waits, bytes.data(), bytes.size());
    return;
  }
  if (waits != 0) {
    std::memcpy(waiting_.data() + waits, bytes.data(), 64 - waits);
    block(waiting_.data());
    bytes = bytes.subspan(64 - waits);
  }
  for (; bytes.size() >= 64; bytes = bytes.subspan(64)) block(bytes.data());
  if (!bytes.empty()) std::memcpy(waiting_.data(), bytes.data(), bytes.size());
}

ZARRPOINT_INLINE void sha256::add(std::string_view text) noexcept {
  add(std::as_bytes(std::span(text)));
}

ZARRPOINT_INLINE sha256_digest sha256::finish() noexcept {
  const std::uint64_t bits = 8 * size_;
  constexpr std::byte end[64] = {std::byte{0x80}};
  add(bytes_view(end).first(1 + (119 - size_ % 64) % 64));
  std::byte length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  add(bytes_view(length));
  sha256_digest out;
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

ZARRPOINT_INLINE sha256_digest sha256_of(std::string_view text) noexcept {
  sha256 of;
  of.add(text);
  return of.finish();
}

ZARRPOINT_INLINE sha256_digest hmac_sha256(bytes_view key, std::string_view text) noexcept {
  sha256_digest hashed;
  if (key.size() > 64) {
    sha256 of;
    of.add(key);
    hashed = of.finish();
    key = hashed;
  }
  const auto padded = [&](std::byte pad) {
    std::array<std::byte, 64> block;
    block.fill(pad);
    for (std::size_t i = 0; i < key.size(); ++i) block[i] ^= key[i];
    sha256 of;
    of.add(block);
    return of;
  };
  sha256 inner = padded(std::byte{0x36}), outer = padded(std::byte{0x5c});
  inner.add(text);
  outer.add(bytes_view(inner.finish()));
  return outer.finish();
}

ZARRPOINT_INLINE std::string to_hex(bytes_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte one : bytes)
    out += {digits[static_cast<unsigned>(one) >> 4], digits[static_cast<unsigned>(one) & 15]};
  return out;
}

}  // namespace detail

// --------------------------------------------------------------------------------------- sigv4.hpp

ZARRPOINT_INLINE std::string to_string(const aws_credentials& of) {
  return of.access_key.substr(0, of.access_key.size() >= 16 ? 4 : 0) + "****";
}

namespace detail {

ZARRPOINT_INLINE std::string canonical_query(const query_list& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query)
    encoded.emplace_back(percent_encode(name), percent_encode(value));
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded)
    out.append(out.empty() ? "" : "&").append(name).append("=").append(value);
  return out;
}

/// A value without spaces around it, and with one where there are several.
ZARRPOINT_INLINE std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// The parts of a request that a signature covers.
struct signed_parts {
  std::string_view method;
  const web_url& url;
  const std::vector<http_header>& headers;  ///< beside `Host`
  std::string_view payload_hash;
};

ZARRPOINT_INLINE std::string scope_text(const signing_scope& scope) {
  return compact_date(scope.now).substr(0, 8) + '/' + std::string(scope.region) + '/' +
         std::string(scope.service) + (scope.is_google ? "/goog4_request" : "/aws4_request");
}

ZARRPOINT_INLINE std::string algorithm_of(const signing_scope& scope) {
  return scope.is_google ? "GOOG4-HMAC-SHA256" : "AWS4-HMAC-SHA256";
}

/// The signature, and the names of the headers that it covers.
ZARRPOINT_INLINE std::pair<std::string, std::string> signature_v4(const signed_parts& of,
                                                                  const aws_credentials& by,
                                                                  const signing_scope& scope) {
  std::vector<std::pair<std::string, std::string>> headers;
  headers.emplace_back("host", of.url.authority());
  for (const http_header& one : of.headers) {
    std::string name = lower_text(one.name);
    // Front ends, such as Google's, change that one on its way.
    if (name != "accept-encoding")
      headers.emplace_back(std::move(name), canonical_value(one.value));
  }
  std::stable_sort(headers.begin(), headers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string lines, names;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto& [name, value] = headers[i];
    if (i != 0 && headers[i - 1].first == name) {
      lines.back() = ',';
      lines.append(value).append("\n");
      continue;
    }
    lines.append(name).append(":").append(value).append("\n");
    names.append(names.empty() ? "" : ";").append(name);
  }
  std::string canonical(of.method);
  canonical.append("\n").append(of.url.path).append("\n").append(of.url.query).append("\n");
  canonical.append(lines).append("\n").append(names).append("\n").append(of.payload_hash);
  const std::string date = compact_date(scope.now);
  const std::string to_sign = algorithm_of(scope) + '\n' + date + '\n' + scope_text(scope) + '\n' +
                              to_hex(sha256_of(canonical));
  const std::string secret = (scope.is_google ? "GOOG4" : "AWS4") + by.secret_key;
  sha256_digest key =
      hmac_sha256(std::as_bytes(std::span(secret)), std::string_view(date).substr(0, 8));
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  key = hmac_sha256(key, scope.is_google ? "goog4_request" : "aws4_request");
  return {to_hex(hmac_sha256(key, to_sign)), std::move(names)};
}

ZARRPOINT_INLINE void sign_v4(http_request& request, std::string_view payload_hash,
                              const aws_credentials& by, const signing_scope& scope) {
  const auto url = web_url::parse(request.url);
  if (!url) return;  // no transport takes it either
  const std::string prefix = scope.is_google ? "x-goog-" : "x-amz-";
  request.headers.push_back({prefix + "date", compact_date(scope.now)});
  if (scope.service == "s3" || scope.is_google)
    request.headers.push_back({prefix + "content-sha256", std::string(payload_hash)});
  if (!by.session_token.empty())
    request.headers.push_back({prefix + "security-token", by.session_token});
  const auto [signature, names] =
      signature_v4({request.method, *url, request.headers, payload_hash}, by, scope);
  request.headers.push_back({"Authorization", algorithm_of(scope) + " Credential=" + by.access_key +
                                                  '/' + scope_text(scope) + ", SignedHeaders=" +
                                                  names + ", Signature=" + signature});
}

ZARRPOINT_INLINE std::string presign_v4(std::string_view method, const web_url& of,
                                        const aws_credentials& by, const signing_scope& scope,
                                        std::int64_t seconds) {
  query_list query = {{"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
                      {"X-Amz-Credential", by.access_key + '/' + scope_text(scope)},
                      {"X-Amz-Date", compact_date(scope.now)},
                      {"X-Amz-Expires", std::to_string(seconds)},
                      {"X-Amz-SignedHeaders", "host"}};
  if (!by.session_token.empty()) query.emplace_back("X-Amz-Security-Token", by.session_token);
  web_url url = of;
  url.query = canonical_query(query);
  const auto [signature, names] = signature_v4({method, url, {}, unsigned_payload}, by, scope);
  return url.str() + "&X-Amz-Signature=" + signature;
}

// ---------------------------------------------------------------------------------- xml_reader.hpp

ZARRPOINT_INLINE error no_xml(const char* why) {
  return {errc::corrupt, std::string("its answer is not XML of S3: ") + why};
}

ZARRPOINT_INLINE result<void> xml_reader::decode(std::string_view raw) {
  while (!raw.empty()) {
    const std::size_t plain = std::min(raw.find('&'), raw.size());
    text_.append(raw.substr(0, plain));
    raw.remove_prefix(plain);
    if (raw.empty()) return {};
    const std::size_t end = raw.substr(0, 16).find(';');
    if (end == raw.npos) return no_xml("an entity has no end");
    std::string_view name = raw.substr(1, end - 1);
    raw.remove_prefix(end + 1);
    if (name.starts_with('#')) {
      name.remove_prefix(1);
      const bool is_hex = name.starts_with('x');
      if (is_hex) name.remove_prefix(1);
      std::uint32_t point = 0;
      const char* const last = name.data() + name.size();
      const auto [at, fault] = std::from_chars(name.data(), last, point, is_hex ? 16 : 10);
      if (fault != std::errc() || at != last || point == 0 || !append_code_point(text_, point))
        return no_xml("a character's number is none");
      continue;
    }
    static constexpr std::pair<std::string_view, char> known[] = {
        {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    const auto* const found = std::find_if(std::begin(known), std::end(known),
                                           [&](auto& one) { return one.first == name; });
    if (found == std::end(known)) return no_xml("an entity is not one of the five");
    text_ += found->second;
  }
  return {};
}

ZARRPOINT_INLINE result<bool> xml_reader::skip_markup() {
  const auto past = [&](std::string_view mark) {
    const std::size_t end = rest_.find(mark);
    if (end != rest_.npos) rest_.remove_prefix(end + mark.size());
    return end != rest_.npos;
  };
  if (rest_.starts_with("<?")) {
    if (!past("?>")) return no_xml("an instruction has no end");
    return true;
  }
  if (rest_.starts_with("<!--")) {
    rest_.remove_prefix(4);
    if (!past("-->")) return no_xml("a comment has no end");
    return true;
  }
  if (rest_.starts_with("<!") && !rest_.starts_with("<![CDATA["))
    return no_xml("it has a DTD, which no answer of S3 has");
  return false;
}

ZARRPOINT_INLINE result<xml_event> xml_reader::open_element() {
  // The end of the tag: `>` may stand in the value of an attribute.
  std::size_t end = 1;
  char quote = 0;
  for (; end < rest_.size(); ++end) {
    const char c = rest_[end];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      break;
    }
  }
  if (end >= rest_.size()) return no_xml("a tag has no end");
  std::string_view tag = rest_.substr(1, end - 1);
  rest_.remove_prefix(end + 1);
  closes_ = tag.ends_with('/');
  if (closes_) tag.remove_suffix(1);
  const std::string_view full = tag.substr(0, tag.find_first_of(" \t\r\n"));
  name_ = full.substr(full.rfind(':') + 1);
  if (name_.empty() || name_.find('/') != name_.npos) return no_xml("an element has no name");
  if (open_.empty() && began_) return no_xml("something follows its end");
  if (open_.size() >= max_depth) return no_xml("it is nested too deeply");
  began_ = true;
  open_.push_back(name_);
  return xml_event::open;
}

ZARRPOINT_INLINE result<xml_event> xml_reader::close_element() {
  const std::size_t end = rest_.find('>');
  if (end == rest_.npos) return no_xml("a tag has no end");
  std::string_view full = rest_.substr(2, end - 2);
  rest_.remove_prefix(end + 1);
  full = full.substr(0, full.find_first_of(" \t\r\n"));
  name_ = full.substr(full.rfind(':') + 1);
  if (open_.empty() || open_.back() != name_) return no_xml("a tag closes another element");
  open_.pop_back();
  return xml_event::close;
}

ZARRPOINT_INLINE result<xml_event> xml_reader::next() {
  if (closes_) {
    closes_ = false;
    name_ = open_.back();
    open_.pop_back();
    return xml_event::close;
  }
  text_.clear();
  bool found = false;
  while (!rest_.empty()) {
    if (rest_.front() != '<') {
      const std::size_t plain = std::min(rest_.find('<'), rest_.size());
      const std::string_view raw = rest_.substr(0, plain);
      rest_.remove_prefix(plain);
      if (open_.empty()) {
        const std::size_t mark = raw.find_first_not_of(" \t\r\n\xef\xbb\xbf");
        if (mark != raw.npos) return no_xml("text stands outside of its element");
        continue;
      }
      ZARRPOINT_CHECK(decode(raw));
      found = true;
      continue;
    }
    ZARRPOINT_TRY(skipped, skip_markup());
    if (skipped) continue;
    if (rest_.starts_with("<![CDATA[")) {
      const std::size_t end = rest_.find("]]>");
      if (end == rest_.npos || open_.empty()) return no_xml("a CDATA section has no end");
      text_.append(rest_.substr(9, end - 9));
      rest_.remove_prefix(end + 3);
      found = true;
      continue;
    }
    if (found) return xml_event::text;
    return rest_.starts_with("</") ? close_element() : open_element();
  }
  if (!open_.empty()) return no_xml("it ends within an element");
  if (!began_) return no_xml("it is empty");
  return xml_event::end;
}

ZARRPOINT_INLINE result<bucket_listing> parse_s3_listing(std::string_view document) {
  bucket_listing out;
  bucket_listing::object now;
  const char* wrong = nullptr;
  bool is_list = false, goes_on = false;
  ZARRPOINT_CHECK(for_each_xml_text(document, [&](std::string_view path, std::string& text) {
    constexpr std::string_view root = "ListBucketResult";
    if (path == root) is_list = true;
    if (!path.starts_with("ListBucketResult/")) return;
    path.remove_prefix(root.size() + 1);
    if (path == "Contents/Key") {
      now.key = std::move(text);
    } else if (path == "Contents/Size") {
      const auto size = whole_number(text);
      if (!size) wrong = "the size of an object is not a number";
      now.size = size.value_or(0);
    } else if (path == "Contents/ETag") {
      now.etag = std::move(text);
    } else if (path == "Contents/LastModified") {
      now.modified = std::move(text);
    } else if (path == "Contents") {
      if (now.key.empty()) wrong = "an object has no key";
      out.objects.push_back(std::exchange(now, {}));
    } else if (path == "CommonPrefixes/Prefix") {
      out.prefixes.push_back(std::move(text));
    } else if (path == "NextContinuationToken") {
      out.next = std::move(text);
    } else if (path == "IsTruncated") {
      goes_on = text == "true";
    }
  }));
  if (wrong != nullptr) return no_xml(wrong);
  if (!is_list) return no_xml("it is not a list of objects");
  if (goes_on && out.next.empty()) return no_xml("a page says that more follow, and not where");
  if (!goes_on) out.next.clear();
  return out;
}

ZARRPOINT_INLINE s3_problem parse_s3_problem(std::string_view document) {
  s3_problem out;
  const auto read = for_each_xml_text(document, [&](std::string_view path, std::string& text) {
    if (path == "Error/Code") out.code = text;
    if (path == "Error/Message") out.message = text;
    if (path == "Error/Region") out.region = text;
    if (path == "Error/RequestId") out.request_id = text;
  });
  if (!read) return {};
  return out;
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/store/remote/bodies.hpp>
#endif
