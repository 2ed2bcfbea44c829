// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Saves to and reads from a server of S3 or of Google Cloud Storage, for py/s3_check.py and
// py/gcs_check.py; endpoint and keys are those of the environment, HMAC keys of Google in GCS_HMAC.
//
//   s3_exchange save URL VALUE     saves a checkpoint of that value
//   s3_exchange big URL MIB        one of one tensor of that size, whose elements count
//   s3_exchange read URL           prints the value of a checkpoint, or of a hierarchy of others
//   s3_exchange list URL           the names at a place
//   s3_exchange remove URL
//   s3_exchange presign URL KEY
//   s3_exchange sign               requests by lines, signed

#include <zarrpoint/curl.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/gcs.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// HMAC keys that the environment gives, else a token that it leads to.
struct gs_access : zp::curl_access {
  static zp::gcs_options gcs() {
    const char* const keys = std::getenv("GCS_HMAC");
    if (keys == nullptr) return {};
    const std::string text = keys;
    const std::size_t mark = text.find(':');
    return {.login = zp::gcs_login::hmac(text.substr(0, mark), text.substr(mark + 1))};
  }
};

zp::result<zp::bucket_store> open_store(const std::string& url) {
  if (url.starts_with("gs://")) {
    ZARRPOINT_TRY(store, zp::gcs_store::open(url, zp::curl_transport(), gs_access::gcs()));
    return zp::bucket_store(store);
  }
  ZARRPOINT_TRY(store, zp::s3_store::open(url, zp::curl_transport()));
  return zp::bucket_store(store);
}

int fail(const zp::error& why) {
  std::printf("error %s\n", zp::to_string(why).c_str());
  return 1;
}

std::vector<float> values(float of) { return std::vector<float>(300'000, of); }

zp::result<void> save(const std::string& url, float value, const zp::context& how) {
  const std::vector<float> all = values(value);
  ZARRPOINT_TRY(report, zp::save(url, {{"layers/0/w", all}, {"step", value}}, {}, how));
  static_cast<void>(report);
  return {};
}

zp::result<void> big(const std::string& url, std::size_t mib, const zp::context& how) {
  std::vector<std::uint32_t> all(mib << 18);
  std::iota(all.begin(), all.end(), 0U);
  ZARRPOINT_TRY(report, zp::save(url, {{"w", all}}, {}, how));
  static_cast<void>(report);
  ZARRPOINT_TRY(opened, zp::open(url, how));
  ZARRPOINT_TRY(back, opened.load<std::vector<std::uint32_t>>("w"));
  if (back != all) return zp::error{zp::errc::corrupt, "other elements came back"};
  return {};
}

zp::result<float> read(const std::string& url, const zp::context& how) {
  ZARRPOINT_TRY(opened, zp::open(url, how));
  ZARRPOINT_TRY(all, opened.load<std::vector<float>>("layers/0/w"));
  if (all.empty() || all != std::vector<float>(all.size(), all.front()))
    return zp::error{zp::errc::corrupt, "two checkpoints are mixed"};
  return all.front();
}

/// Lines of fields that a tab separates: method, URL, hash of the body, key, secret, token, time,
/// region, and names and values of headers.
int sign() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<std::string> fields;
    std::size_t at = 0;
    for (std::size_t end = line.find('\t'); end != line.npos; end = line.find('\t', at)) {
      fields.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    fields.push_back(line.substr(at));
    zp::http_request request{.method = fields[0], .url = fields[1]};
    for (std::size_t i = 8; i + 1 < fields.size(); i += 2)
      request.headers.push_back({fields[i], fields[i + 1]});
    zp::detail::sign_v4(
        request, fields[2],
        {.access_key = fields[3], .secret_key = fields[4], .session_token = fields[5]},
        {.region = fields[7], .now = std::stoll(fields[6])});
    std::puts(zp::find_header(request.headers, "Authorization")->c_str());
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "", url = count > 2 ? arguments[2] : "";
  const std::string more = count > 3 ? arguments[3] : "";
  const zp::context how{
      .stores = zp::formats<zp::s3_scheme_by<zp::curl_access>, zp::gs_scheme_by<gs_access>>()};
  if (what == "sign") return sign();
  if (what == "save") {
    const auto done = save(url, std::stof(more), how);
    return done ? 0 : fail(done.failure());
  }
  if (what == "big") {
    const auto done = big(url, std::stoul(more), how);
    return done ? 0 : fail(done.failure());
  }
  if (what == "read") {
    const auto value = read(url, how);
    if (!value) return fail(value.failure());
    std::printf("%g\n", static_cast<double>(*value));
    return 0;
  }
  const auto store = open_store(url);
  if (!store) return fail(store.failure());
  if (what == "list") {
    const auto found = store->list(zp::store_key::root());
    if (!found) return fail(found.failure());
    for (const auto& one : *found)
      std::printf("%s%s\n", one.name.c_str(), one.is_prefix ? "/" : "");
    return 0;
  }
  if (what == "remove") {
    const auto done = store->erase_all(zp::store_key::root());
    return done ? 0 : fail(done.failure());
  }
  if (what == "presign") {
    const auto key = zp::store_key::parse(more);
    if (!key) return fail(key.failure());
    const auto of = zp::s3_store::open(url, zp::curl_transport());
    if (!of) return fail(of.failure());
    const auto text = of->presign(*key, std::chrono::seconds(60));
    if (!text) return fail(text.failure());
    std::puts(text->c_str());
    return 0;
  }
  return 2;
}
