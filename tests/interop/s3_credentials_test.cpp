// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/s3.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace s3_credentials_tests {

namespace zp = zarrpoint;
using namespace zp::detail;

namespace {

std::int64_t now_in_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

/// The environment of one test: what AWS' tools read, and nothing else of it.
class environment {
 public:
  environment() {
    for (const char* name : {"AWS_ACCESS_KEY_ID",
                             "AWS_SECRET_ACCESS_KEY",
                             "AWS_SESSION_TOKEN",
                             "AWS_PROFILE",
                             "AWS_REGION",
                             "AWS_DEFAULT_REGION",
                             "AWS_WEB_IDENTITY_TOKEN_FILE",
                             "AWS_ROLE_ARN",
                             "AWS_ROLE_SESSION_NAME",
                             "AWS_ENDPOINT_URL_STS",
                             "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                             "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                             "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                             "AWS_ENDPOINT_URL_SSO",
                             "AWS_SHARED_CREDENTIALS_FILE",
                             "AWS_CONFIG_FILE",
                             "AWS_EC2_METADATA_DISABLED",
                             "HOME"})
      set(name, nullptr);
    set("HOME", "/nowhere");
  }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  ~environment() {
    for (const auto& [name, value] : before_) put(name.c_str(), value);
  }
  void set(const char* name, const char* value) {
    const char* const old = std::getenv(name);
    before_.try_emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    put(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
  }

 private:
  static void put(const char* name, const std::optional<std::string>& value) {
    value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }
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

zp::http_response text(int status, std::string body) {
  return {.status = status, .received = body.size(), .text = std::move(body)};
}

const answers none{[](const zp::http_request&) { return text(404, ""); }};

constexpr const char* document =
    R"({"Version":1,"AccessKeyId":"AKIDOC","SecretAccessKey":"doc","Token":"t",
        "Expiration":"2100-01-01T00:00:00Z"})";

}  // namespace

TEST_CASE("s3: keys are looked for as AWS' tools do") {
  environment with;
  with.set("AWS_ACCESS_KEY_ID", "AKIENV");
  with.set("AWS_SECRET_ACCESS_KEY", "env");
  with.set("AWS_SESSION_TOKEN", "token");
  const answers by = none;
  const auto keys = zp::aws_login().keys(by).value();
  CHECK(keys.access_key == "AKIENV");
  CHECK(keys.secret_key == "env");
  CHECK(keys.session_token == "token");
  CHECK(by.asked->empty());
  CHECK(zp::aws_login::environment().keys(by).value().access_key == "AKIENV");
  CHECK(zp::aws_login::anonymous().keys(by).value().access_key.empty());
  CHECK(by.asked->empty());
}

TEST_CASE("s3: without keys, the error says where they were looked for") {
  environment with;
  const answers by{[](const zp::http_request&) { return text(404, ""); }};
  const auto keys = zp::aws_login().keys(by);
  REQUIRE_FALSE(keys);
  CHECK(keys.failure().code == zp::errc::invalid_argument);
  CHECK(keys.failure().message.find("anonymous") != std::string::npos);
  // One try of IMDS, which is the last.
  CHECK(*by.asked == std::vector<std::string>{"PUT http://169.254.169.254/latest/api/token"});
  with.set("AWS_EC2_METADATA_DISABLED", "true");
  by.asked->clear();
  CHECK_FALSE(zp::aws_login().keys(by));
  CHECK(by.asked->empty());
}

TEST_CASE("s3: profiles of ~/.aws") {
  environment with;
  const test::temp_directory home;
  const std::string at = home.path().string();
  with.set("AWS_SHARED_CREDENTIALS_FILE", (at + "/credentials").c_str());
  with.set("AWS_CONFIG_FILE", (at + "/config").c_str());
  with.set("AWS_EC2_METADATA_DISABLED", "true");
  std::ofstream(at + "/credentials") << "# keys\n[default]\naws_access_key_id = AKIDEF\n"
                                        "aws_secret_access_key=a=b\n[other]\r\n"
                                        "aws_access_key_id=AKIOTHER\r\n"
                                        "aws_secret_access_key = x\r\n";
  std::ofstream(at + "/config") << "[default]\nregion = eu-west-3\ns3 =\n  region = nested\n"
                                   "[profile fails]\ncredential_process = false\n"
                                   "[profile sso]\nsso_session = s\n"
                                   "[profile mfa]\nrole_arn = r\nmfa_serial = d\n";
  const auto keys = zp::aws_login().keys(none).value();
  CHECK(keys.access_key == "AKIDEF");
  CHECK(keys.secret_key == "a=b");
  CHECK(aws_region({}) == "eu-west-3");
  CHECK(zp::aws_login::automatic("other").keys(none).value().access_key == "AKIOTHER");
  with.set("AWS_PROFILE", "other");
  CHECK(zp::aws_login().keys(none).value().access_key == "AKIOTHER");
  const auto sso = zp::aws_login::automatic("sso").keys(none);
  REQUIRE_FALSE(sso);
  CHECK(sso.failure().code == zp::errc::unavailable);
  CHECK(sso.failure().message.find("aws sso login --profile sso") != std::string::npos);
  CHECK(zp::aws_login::automatic("mfa").keys(none).failure().code == zp::errc::unsupported);
  CHECK_FALSE(zp::aws_login::automatic("fails").keys(none));
  CHECK_FALSE(zp::aws_login::automatic("nobody").keys(none));
}

TEST_CASE("s3: credential_process of a profile is run") {
  environment with;
  const test::temp_directory home;
  const std::string at = home.path().string();
  std::ofstream(at + "/keys.json") << document;
  with.set("AWS_CONFIG_FILE", (at + "/config").c_str());
  std::ofstream(at + "/config") << "[default]\ncredential_process = cat '" << at << "/keys.json'\n";
  const auto keys = zp::aws_login().keys(none).value();
  CHECK(keys.access_key == "AKIDOC");
  CHECK(keys.session_token == "t");
  CHECK(keys.expires == 4102444800);
}

TEST_CASE("s3: keys of a container, a web identity and a machine") {
  environment with;
  const test::temp_directory home;
  const answers by{[](const zp::http_request& request) {
    if (request.url == "http://169.254.170.2/role") return text(200, document);
    if (request.url == "http://127.0.0.1:9/k") {
      const std::string* token = zp::find_header(request.headers, "authorization");
      return text(token != nullptr && *token == "secret" ? 200 : 403, document);
    }
    CHECK(request.is_direct == (request.url.find("https://sts") != 0));
    if (request.url == "http://imds/latest/api/token")
      return text(request.method == "PUT" ? 200 : 405, "session");
    const std::string* token = zp::find_header(request.headers, "x-aws-ec2-metadata-token");
    if (token != nullptr && *token == "session" &&
        request.url == "http://imds/latest/meta-data/iam/security-credentials/")
      return text(200, "the-role\n");
    if (token != nullptr &&
        request.url == "http://imds/latest/meta-data/iam/security-credentials/the-role")
      return text(200, document);
    if (request.url == "https://sts/" && request.method == "POST" &&
        zp::as_text(request.body[0]).find("WebIdentityToken=jwt%2B") != std::string::npos)
      return text(200,
                  "<AssumeRoleWithWebIdentityResponse xmlns='x'><AssumeRoleWithWebIdentityResult>"
                  "<Credentials><AccessKeyId>AKIWEB</AccessKeyId><SecretAccessKey>w"
                  "</SecretAccessKey><SessionToken>s</SessionToken><Expiration>"
                  "2100-01-01T00:00:00Z</Expiration></Credentials>"
                  "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
    return text(404, "");
  }};
  with.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://imds/");
  CHECK(zp::aws_login().keys(by).value().access_key == "AKIDOC");
  with.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/role");
  CHECK(zp::aws_login().keys(by).value().access_key == "AKIDOC");
  CHECK(by.asked->back() == "GET http://169.254.170.2/role");
  with.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", nullptr);
  with.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9/k");
  with.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret");
  CHECK(zp::aws_login().keys(by).value().access_key == "AKIDOC");
  with.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/k");
  const auto elsewhere = zp::aws_login().keys(by);
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.failure().code == zp::errc::invalid_argument);
  CHECK(by.asked->back() != "GET http://example.com/k");
  for (const char* name : {"http://127.0.0.1.nip.io/k", "http://169.254.170.2.example/k"}) {
    CAPTURE(name);
    with.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", name);
    CHECK_FALSE(zp::aws_login().keys(by));
    CHECK(by.asked->back() != std::string("GET ") + name);
  }
  std::ofstream(home.path() / "token") << "jwt+\n";
  with.set("AWS_WEB_IDENTITY_TOKEN_FILE", (home.path() / "token").c_str());
  with.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
  with.set("AWS_ENDPOINT_URL_STS", "http://sts");
  const std::size_t before = by.asked->size();
  CHECK(zp::aws_login().keys(by).failure().message.find("AWS_ENDPOINT_URL_STS") !=
        std::string::npos);
  CHECK(by.asked->size() == before);
  with.set("AWS_ENDPOINT_URL_STS", "https://sts");
  CHECK(zp::aws_login().keys(by).value().access_key == "AKIWEB");
}

TEST_CASE("s3: a machine that gave keys before is asked again") {
  environment with;
  const answers machine{[](const zp::http_request& request) {
    CHECK(request.times.connect.count() == 300);
    CHECK(request.times.total.count() >= 5000);
    return text(200, R"({"AccessKeyId":"AKIOLD","SecretAccessKey":"s","Token":"t",
                         "Expiration":"2020-01-01T00:00:00Z"})");
  }};
  const auto login = zp::aws_login();
  CHECK(login.keys(machine).value().access_key == "AKIOLD");
  const answers away{[](const zp::http_request&) { return text(503, ""); }};
  CHECK(login.keys(away).failure().code == zp::errc::unavailable);
  CHECK(away.asked->size() == 3);
  CHECK(zp::aws_login().keys(none).failure().code == zp::errc::invalid_argument);
}

TEST_CASE("s3: a profile that signs in by SSO") {
  environment with;
  const test::temp_directory home;
  const std::string at = home.path().string();
  with.set("HOME", at.c_str());
  std::filesystem::create_directories(at + "/.aws/sso/cache");
  const auto cached = [&](const char* name, const char* text) {
    std::ofstream(at + "/.aws/sso/cache/" + name) << text;
  };
  cached("a.json", "not JSON");
  cached("b.json",
         R"({"startUrl":"https://sso","accessToken":"OLD","expiresAt":"2020-01-01T00:00:00Z"})");
  cached("c.json",
         R"({"startUrl":"https://b","accessToken":"B","expiresAt":"2100-01-01T00:00:00Z"})");
  std::ofstream(at + "/.aws/config")
      << "[profile p]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r r\n"
         "[sso-session s]\nsso_start_url = https://sso\nsso_region = eu-north-1\n";
  const answers by{[](const zp::http_request& request) {
    const std::string* token = zp::find_header(request.headers, "x-amz-sso_bearer_token");
    if (token == nullptr || *token != "NEW") return text(401, "");
    return text(200, R"({"roleCredentials":{"accessKeyId":"AKISSO","secretAccessKey":"s",
                         "sessionToken":"t","expiration":4102444800000}})");
  }};
  CHECK(zp::aws_login::automatic("p").keys(by).failure().code == zp::errc::unavailable);
  CHECK(by.asked->empty());
  cached("d.json",
         R"({"startUrl":"https://sso","accessToken":"NEW","expiresAt":"2100-01-01T00:00:00Z"})");
  const auto keys = zp::aws_login::automatic("p").keys(by).value();
  CHECK(keys.access_key == "AKISSO");
  CHECK(keys.expires == 4102444800);
  CHECK(*by.asked ==
        std::vector<std::string>{"GET https://portal.sso.eu-north-1.amazonaws.com/"
                                 "federation/credentials?account_id=1&role_name=r%20r"});
  with.set("AWS_ENDPOINT_URL_SSO", "http://sso");
  CHECK(zp::aws_login::automatic("p").keys(by).failure().message.find("AWS_ENDPOINT_URL_SSO") !=
        std::string::npos);
  CHECK(by.asked->size() == 1);
  with.set("AWS_ENDPOINT_URL_SSO", nullptr);
  const answers broken{
      [](const zp::http_request&) { return text(200, R"({"roleCredentials":"SEEN"})"); }};
  const auto no_keys = zp::aws_login::automatic("p").keys(broken);
  REQUIRE_FALSE(no_keys);
  CHECK(no_keys.failure().code == zp::errc::corrupt);
  CHECK(no_keys.failure().message.find("SEEN") == std::string::npos);
}

TEST_CASE("s3: a profile that assumes a role") {
  environment with;
  const test::temp_directory home;
  const std::string at = home.path().string();
  with.set("AWS_CONFIG_FILE", (at + "/config").c_str());
  with.set("AWS_ENDPOINT_URL_STS", "https://sts");
  std::ofstream(at + "/config")
      << "[profile base]\naws_access_key_id = AKIBASE\naws_secret_access_key = b\n"
         "[profile one]\nrole_arn = arn:one\nsource_profile = base\nexternal_id = e\n"
         "[profile two]\nrole_arn = arn:two\nsource_profile = one\nrole_session_name = me\n"
         "[profile env]\nrole_arn = arn:env\ncredential_source = Environment\n"
         "[profile ring]\nrole_arn = r\nsource_profile = other\n"
         "[profile other]\nrole_arn = r\nsource_profile = ring\n";
  std::vector<std::string> forms;
  const answers by{[&](const zp::http_request& request) {
    forms.emplace_back(zp::as_text(request.body[0]));
    const std::string* signature = zp::find_header(request.headers, "Authorization");
    REQUIRE(signature != nullptr);
    CHECK(signature->find("/us-east-1/sts/aws4_request") != std::string::npos);
    const std::string number = std::to_string(forms.size());
    CHECK(signature->find(forms.size() == 1 ? "Credential=AKIBASE/" : "Credential=AKI1/") !=
          std::string::npos);
    return text(200, "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>AKI" +
                         number +
                         "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t"
                         "</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>"
                         "</Credentials></AssumeRoleResult></AssumeRoleResponse>");
  }};
  const auto keys = zp::aws_login::automatic("two").keys(by).value();
  CHECK(keys.access_key == "AKI2");
  CHECK(keys.session_token == "t");
  CHECK(forms == std::vector<std::string>{
                     "Action=AssumeRole&ExternalId=e&RoleArn=arn%3Aone&RoleSessionName=zarrpoint"
                     "&Version=2011-06-15",
                     "Action=AssumeRole&RoleArn=arn%3Atwo&RoleSessionName=me&Version=2011-06-15"});
  CHECK(zp::aws_login::automatic("env").keys(none).failure().code == zp::errc::invalid_argument);
  const auto ring = zp::aws_login::automatic("ring").keys(none);
  REQUIRE_FALSE(ring);
  CHECK(ring.failure().message.find("does not end") != std::string::npos);
}

TEST_CASE("s3: documents with no keys are refused, and not shown") {
  for (const char* broken : {"", "{}", "[]", "{\"AccessKeyId\":1,\"SecretAccessKey\":\"hidden\"}",
                             "{\"AccessKeyId\":\"hidden\"", "hidden"}) {
    CAPTURE(broken);
    const auto keys = parse_aws_keys(broken, "it");
    REQUIRE_FALSE(keys);
    CHECK(keys.failure().code == zp::errc::corrupt);
    CHECK(keys.failure().message.find("hidden") == std::string::npos);
  }
  CHECK(parse_iso_time("2026-11-28T12:00:00Z") == 1795867200);
  CHECK(parse_iso_time("2026-11-28T12:00:00.123Z") == 1795867200);
  for (const char* broken :
       {"", "2026-13-28T12:00:00Z", "2026-11-31T12:00:00Z", "2026-11-28 12:00:00Z",
        "2026-11-28T25:00:00Z", "2026-1a-28T12:00:00Z"})
    CHECK_FALSE(parse_iso_time(broken));
}

TEST_CASE("s3: keys that end are asked for ahead of time, by one thread at a time") {
  std::atomic<int> asked{0}, at_once{0}, most{0};
  std::atomic<std::int64_t> lasts{3600};
  std::atomic<bool> works{true};
  const zp::aws_login login =
      zp::aws_login::from([&](const zp::any_transport&) -> zp::result<zp::aws_credentials> {
        most = std::max(most.load(), ++at_once);
        ++asked;
        std::this_thread::yield();
        --at_once;
        if (!works) return zp::error{zp::errc::unavailable, "gone"};
        return zp::aws_credentials{
            .access_key = "A", .secret_key = "s", .expires = now_in_seconds() + lasts.load()};
      });
  const auto all = [&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] { CHECK(login.keys(none).value().access_key == "A"); });
    for (auto& one : threads) one.join();
  };
  all();
  CHECK(asked == 1);
  CHECK(most == 1);
  // Within 5 minutes of their end they are asked for again; the old ones serve where that fails.
  lasts = 200;
  const zp::aws_login short_lived =
      zp::aws_login::from([&](const zp::any_transport&) -> zp::result<zp::aws_credentials> {
        ++asked;
        if (!works) return zp::error{zp::errc::unavailable, "gone"};
        return zp::aws_credentials{
            .access_key = "B", .secret_key = "s", .expires = now_in_seconds() + 200};
      });
  CHECK(short_lived.keys(none).value().access_key == "B");
  const int before = asked;
  works = false;
  CHECK(short_lived.keys(none).value().access_key == "B");
  CHECK(asked == before + 1);
}

}  // namespace s3_credentials_tests
