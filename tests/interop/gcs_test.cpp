// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/gcs.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_s3.hpp"
#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gcs_tests {

using namespace test;

namespace {

using gcs = made_of<bucket_kind::gcs>;
using gcs_xml = made_of<bucket_kind::gcs_xml>;

zp::gcs_store open_place(const fake_s3& of, zp::gcs_options how) {
  return zp::gcs_store::open("gs://bucket/x", of, std::move(how)).value();
}

std::size_t count_of(const fake_s3& of, std::string_view what) {
  return static_cast<std::size_t>(
      std::count_if(of->log.begin(), of->log.end(),
                    [&](const std::string& one) { return one.starts_with(what); }));
}

/// The environment of one test: nothing of Google, and no home.
class environment {
 public:
  environment() {
    for (const char* name : {"GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN",
                             "GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST",
                             "CLOUDSDK_CONFIG", "GCE_METADATA_HOST", "HOME"})
      set(name, nullptr);
    set("HOME", "/nowhere");
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  ~environment() {
    for (const auto& [name, value] : before_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  void set(const char* name, const char* value) {
    const char* const old = std::getenv(name);
    before_.try_emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

/// Answers as a function says, and keeps what it was asked for.
struct answers {
  std::function<zp::http_response(const zp::http_request&)> by;
  std::shared_ptr<std::vector<std::string>> asked = std::make_shared<std::vector<std::string>>();
  zp::result<zp::http_response> send(const zp::http_request& request) const {
    asked->push_back(request.method + " " + request.url);
    return by(request);
  }
};

zp::http_response text(int status, std::string body, std::vector<zp::http_header> headers = {}) {
  return {.status = status,
          .headers = std::move(headers),
          .received = body.size(),
          .text = std::move(body)};
}

const answers none{[](const zp::http_request&) { return text(404, ""); }};

zp::result<std::string> sign(std::string_view key, std::string_view of) {
  return std::string(key) + std::to_string(of.size());
}

constexpr const char* token =
    R"({"access_token":"ya29.T","expires_in":3599,"token_type":"Bearer"})";

}  // namespace

TEST_CASE_TEMPLATE("gcs: a store reads, writes, lists and erases as every store does", kind, gcs,
                   gcs_xml) {
  const kind of_kind;
  const auto make = [] { return zp::any_store(open_fake_place(fake_s3())); };
  store_reads(make);
  store_writes(make);
  store_lists(make);
  store_erases_all(make);
}

TEST_CASE_TEMPLATE("gcs: keys with odd names are what they are", kind, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  const auto store = open_fake_place(of, false, "a place/with + and %");
  for (const char* name :
       {"a b", "a+b", "100%", "%41", "\xd0\xb1/\xe2\x82\xac", "q\"", "x~!$&'()*,;=:@?#"}) {
    CAPTURE(name);
    store.put(key(name), std::as_bytes(std::span(std::string_view(name)))).value();
    CHECK(of->objects.contains("a place/with + and %/" + std::string(name)));
    CHECK(zp::as_text(read_object(store, name)) == name);
  }
  CHECK(store.list(zp::store_key::root()).value().size() == 7);
  CHECK(store.describe(key("a b")) == "gs://bucket/a place/with + and %/a b");
}

TEST_CASE("gcs: what is not the URL of a place is refused") {
  for (const char* url : {"gs://", "gs:///key", "gs://b/key", "gs://bucket/a//b",
                          "gs://bucket/../x", "s3://bucket/key", "gs://bucket name/k"}) {
    CAPTURE(url);
    const auto opened = zp::gcs_store::open(url, fake_s3());
    REQUIRE_FALSE(opened);
    CHECK(opened.failure().code == zp::errc::invalid_argument);
  }
  CHECK_FALSE(zp::gcs_store::open("gs://bucket/k", fake_s3(), {.endpoint = "ftp://x"}));
}

TEST_CASE_TEMPLATE("gcs: a large object goes in parts, or whole where a server has none", kind, gcs,
                   gcs_xml) {
  const kind of_kind;
  for (const bool parts : {true, false}) {
    CAPTURE(parts);
    const fake_s3 of;
    of->rules.parts = parts;
    auto how = fake_gcs_options(of);
    how.part_bytes = std::size_t{5} << 20;
    const auto data = random_bytes((std::size_t{12} << 20) + 5);
    const auto done = open_place(of, how).put(key("big"), data);
    if (!parts && how.login.is_hmac()) {
      CHECK_FALSE(done);
      continue;
    }
    REQUIRE(done);
    CHECK(of->objects["x/big"].bytes == zp::as_text(data));
    CHECK(of->uploads.empty());
    CHECK(count_of(of, "PUT x/big?partNumber=") == (parts ? 3 : 0));
  }
}

TEST_CASE_TEMPLATE("gcs: a checksum of the service that differs is an error", kind, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  const auto store = open_fake_place(of);
  zp::save(store, {{"step", 1.0F}}).value();
  of->rules.wrong_crc = true;
  const auto opened = zp::open(open_fake_place(of));
  REQUIRE_FALSE(opened);
  CHECK(opened.failure().code == zp::errc::corrupt);
  CHECK(opened.failure().message.find("CRC-32C") != std::string::npos);
  auto how = fake_gcs_options(of);
  how.part_bytes = std::size_t{5} << 20;
  CHECK_FALSE(open_place(of, how).put(key("big"), random_bytes(std::size_t{6} << 20)));
}

TEST_CASE("gcs: a server that tells less in its heads is asked for the rest") {
  const gcs of_kind;
  const fake_s3 of;
  of->rules.tells_head = false;
  for (const float value : {1.0F, 2.0F}) {
    zp::save(open_fake_place(of), {{"step", value}}).value();
    CHECK(zp::open(open_fake_place(of)).value().load<float>("step").value() == value);
  }
}

TEST_CASE_TEMPLATE("gcs: pages of a list are joined", kind, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  of->rules.page = 3;
  const auto store = open_fake_place(of);
  for (int i = 0; i < 10; ++i) {
    store.put(key("a/" + std::to_string(i)), {}).value();
    store.put(key("b" + std::to_string(i) + "/x"), {}).value();
  }
  CHECK(store.list(key("a")).value().size() == 10);
  CHECK(store.list(zp::store_key::root()).value().size() == 11);
  CHECK(store.erase_all(zp::store_key::root()).value());
  CHECK(of.keys().empty());
}

TEST_CASE_TEMPLATE("gcs: errors have the service's words and no secrets", kind, gcs, gcs_xml) {
  const kind of_kind;
  const fake_s3 of;
  auto how = fake_gcs_options(of);
  how.login = how.login.is_hmac() ? zp::gcs_login::hmac("GOOGSEEN", "SECRETSEEN")
                                  : zp::gcs_login::token("TOKENSEEN");
  of->instead = [](const std::string&) {
    return text(403, R"({"error":{"code":403,"message":"no access to it"}})");
  };
  const auto done = open_place(of, how).put(key("k"), {});
  REQUIRE_FALSE(done);
  const std::string& said = done.failure().message;
  CHECK(said.find("gs://bucket/x/") != std::string::npos);
  CHECK(said.find("403") != std::string::npos);
  CHECK(said.find("SEEN") == std::string::npos);
}

TEST_CASE("gcs: a token goes over TLS only, or to this machine") {
  const gcs of_kind;
  for (const auto& [endpoint, goes] :
       {std::pair("http://fake", false), std::pair("https://fake", true)}) {
    const fake_s3 of;
    auto how = fake_gcs_options(of);
    how.endpoint = endpoint;
    CHECK(static_cast<bool>(open_place(of, how).put(key("k"), {})) == goes);
    CHECK(of->signatures == (goes ? 2 : 0));
  }
  const fake_s3 of;
  auto how = fake_gcs_options(of);
  how.endpoint = "http://fake";
  how.login = zp::gcs_login::anonymous();
  open_place(of, how).put(key("k"), {}).value();
  CHECK(of->signatures == 0);
}

TEST_CASE("gcs: tokens are looked for as Google's tools do") {
  environment with;
  const test::temp_directory home;
  const std::string at = home.path().string();
  // Nothing: one try of the machine, directly, which must say that it is Google's.
  const answers other_cloud{[](const zp::http_request& request) {
    CHECK(request.is_direct);
    CHECK(request.times.connect.count() == 300);
    CHECK(request.times.total.count() >= 5000);  // some take seconds to make a token
    return text(200, token);
  }};
  const auto missing = zp::gcs_login().keys(other_cloud);
  REQUIRE_FALSE(missing);
  CHECK(missing.failure().code == zp::errc::invalid_argument);
  CHECK(missing.failure().message.find("anonymous") != std::string::npos);
  CHECK(other_cloud.asked->size() == 1);
  with.set("GCE_METADATA_HOST", "metadata.test");
  const answers machine{[](const zp::http_request& request) {
    const std::string* flavor = zp::find_header(request.headers, "Metadata-Flavor");
    return text(flavor != nullptr ? 200 : 403, token, {{"Metadata-Flavor", "Google"}});
  }};
  CHECK(zp::gcs_login().keys(machine).value().token == "ya29.T");
  CHECK(*machine.asked ==
        std::vector<std::string>{"GET http://metadata.test/computeMetadata/v1/instance/"
                                 "service-accounts/default/token"});
  // One that gave a token before is asked again, and is `unavailable` then.
  const auto login = zp::gcs_login();
  const answers ended{[](const zp::http_request&) {
    return text(200, R"({"access_token":"old","expires_in":0})", {{"Metadata-Flavor", "Google"}});
  }};
  CHECK(login.keys(ended).value().token == "old");
  const answers away{[](const zp::http_request&) { return text(503, ""); }};
  CHECK(login.keys(away).failure().code == zp::errc::unavailable);
  CHECK(away.asked->size() == 3);
  // A user who has signed in.
  with.set("CLOUDSDK_CONFIG", at.c_str());
  std::ofstream(at + "/application_default_credentials.json")
      << R"({"type":"authorized_user","client_id":"i","client_secret":"c+","refresh_token":"r",
             "quota_project_id":"p"})";
  const answers service{[](const zp::http_request& request) {
    const std::string form(zp::as_text(request.body[0]));
    CHECK(request.url == "https://oauth2.googleapis.com/token");
    CHECK(form == "client_id=i&client_secret=c%2B&grant_type=refresh_token&refresh_token=r");
    return text(200, token);
  }};
  const auto user = zp::gcs_login().keys(service).value();
  CHECK(user.token == "ya29.T");
  CHECK(user.quota_project == "p");
  CHECK(*user.expires > zp::detail::seconds_now() + 3000);
  // An emulator takes none; what is given comes first.
  with.set("STORAGE_EMULATOR_HOST", "localhost:1");
  CHECK(zp::gcs_login().keys(none).value().token.empty());
  with.set("GOOGLE_OAUTH_ACCESS_TOKEN", "given");
  CHECK(zp::gcs_login().keys(none).value().token == "given");
  CHECK(none.asked->empty());
  CHECK(zp::gcs_login::anonymous().keys(none).value().token.empty());
}

TEST_CASE("gcs: a service account signs a claim, and gets a token for it") {
  environment with;
  const test::temp_directory home;
  const std::string at = (home.path() / "account.json").string();
  std::ofstream(at) << R"({"type":"service_account","client_email":"a@b","private_key":"KEY",
                           "private_key_id":"1","token_uri":"https://tokens.test/t"})";
  with.set("GOOGLE_APPLICATION_CREDENTIALS", at.c_str());
  const auto unsigned_one = zp::gcs_login().keys(none);
  REQUIRE_FALSE(unsigned_one);
  CHECK(unsigned_one.failure().code == zp::errc::unsupported);
  CHECK(unsigned_one.failure().message.find("openssl_rs256") != std::string::npos);
  std::string claim;
  const answers service{[&](const zp::http_request& request) {
    const std::string form(zp::as_text(request.body[0]));
    CHECK(request.url == "https://tokens.test/t");
    claim = form.substr(form.find('=') + 1, form.find('&') - form.find('=') - 1);
    CHECK(form.ends_with("&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"));
    return text(200, token);
  }};
  CHECK(zp::gcs_login::automatic(&sign).keys(service).value().token == "ya29.T");
  const std::size_t first = claim.find('.'), second = claim.rfind('.');
  const auto part = [&](std::size_t from, std::size_t to) {
    std::string one = claim.substr(from, to - from);
    one.resize((one.size() + 3) / 4 * 4, '=');
    return zp::detail::from_base64(one).value();
  };
  CHECK(part(0, first) == R"({"alg":"RS256","typ":"JWT","kid":"1"})");
  CHECK(part(first + 1, second)
            .starts_with(R"({"iss":"a@b","scope":"https://www.googleapis.com/auth/)"
                         R"(devstorage.read_write","aud":"https://tokens.test/t","iat":)"));
  CHECK(part(second + 1, claim.size()) == "KEY" + std::to_string(second));
  // No secret leaves for a place without TLS, or shows.
  std::ofstream(at) << R"({"type":"service_account","client_email":"a@b","private_key":"SEEN",
                           "token_uri":"http://tokens.test/t"})";
  const auto plain = zp::gcs_login::automatic(&sign).keys(none);
  REQUIRE_FALSE(plain);
  CHECK(plain.failure().message.find("SEEN") == std::string::npos);
  CHECK(none.asked->empty());
  for (const char* broken :
       {"", "[]", "SEEN", R"({"type":"SEEN"})", R"({"type":"external_account","x":"SEEN"})",
        R"({"type":"service_account","private_key":"SEEN"})"}) {
    CAPTURE(broken);
    std::ofstream(at) << broken;
    const auto keys = zp::gcs_login::automatic(&sign).keys(none);
    REQUIRE_FALSE(keys);
    CHECK((broken[0] == '{' || keys.failure().message.find("SEEN") == std::string::npos));
  }
}

TEST_CASE("gcs: answers that are none are refused") {
  using namespace zp::detail;
  for (const char* broken :
       {"", "[]", "{", "<html>", R"({"items":[{"size":"1"}]})", R"({"items":[1]})"}) {
    CAPTURE(broken);
    const auto page = parse_gcs_listing(broken);
    REQUIRE_FALSE(page);
    CHECK(page.failure().code == zp::errc::corrupt);
  }
  CHECK(parse_gcs_listing("{}").value().objects.empty());
  CHECK(parse_gcs_listing(R"({"items":7,"prefixes":{},"nextPageToken":1})").value().next.empty());
  CHECK_FALSE(parse_google_token("{}", "it"));
  CHECK_FALSE(parse_google_token(R"({"access_token":5})", "it"));
  CHECK(parse_google_token(R"({"access_token":"t","expires_in":-9})", "it").value().token == "t");
  CHECK(crc32c_of_hashes("crc32c=AAAAAA==,md5=x") == "AAAAAA==");
  CHECK(crc32c_of_hashes("md5=x, crc32c=AAAAAA==") == "AAAAAA==");
  CHECK(crc32c_of_hashes("md5=x").empty());
  // A list whose pages never end.
  const gcs of_kind;
  const fake_s3 of;
  of->instead = [](const std::string& what) {
    return what.find('?') == what.npos ? zp::http_response()
                                       : text(200, R"({"nextPageToken":"again"})");
  };
  const auto names = open_fake_place(of).erase_all(key("x"));
  REQUIRE_FALSE(names);
  CHECK(names.failure().message.find("never end") != std::string::npos);
}

}  // namespace gcs_tests
