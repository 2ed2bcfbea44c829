// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/s3.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>

namespace s3_sign_tests {

namespace zp = zarrpoint;
using namespace zp::detail;

namespace {

constexpr std::string_view empty_hash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const zp::aws_credentials example{.access_key = "AKIAIOSFODNN7EXAMPLE",
                                  .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
// 2013-05-24T00:00:00Z, of the examples in the documentation of S3.
const signing_scope in_2013{.region = "us-east-1", .now = 1369353600};

std::string signature_of(zp::http_request request, std::string_view hash) {
  sign_v4(request, hash, example, in_2013);
  const std::string* text = zp::find_header(request.headers, "Authorization");
  REQUIRE(text != nullptr);
  return text->substr(text->find("Signature=") + 10);
}

}  // namespace

TEST_CASE("s3: SHA-256 and HMAC give the published digests") {
  CHECK(to_hex(sha256_of("")) == empty_hash);
  CHECK(to_hex(sha256_of("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(to_hex(sha256_of(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // RFC 4231, cases 1, 2 and 6.
  const auto hmac = [](const std::string& key, std::string_view text) {
    return to_hex(hmac_sha256(std::as_bytes(std::span(key)), text));
  };
  CHECK(hmac(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hmac("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("s3: SHA-256 of parts is that of the whole, whatever the parts") {
  std::mt19937 random(7);
  const std::string text(1000, 'x');
  for (int round = 0; round < 200; ++round) {
    const std::size_t size = random() % text.size();
    sha256 parts;
    for (std::size_t at = 0; at < size;) {
      const std::size_t next = std::min<std::size_t>(size - at, random() % 150);
      parts.add(std::string_view(text).substr(at, next));
      at += next;
    }
    CHECK(to_hex(parts.finish()) == to_hex(sha256_of(std::string_view(text).substr(0, size))));
  }
}

TEST_CASE("s3: signatures are those of the documentation of S3") {
  const std::string host = "https://examplebucket.s3.amazonaws.com";
  CHECK(
      signature_of({.url = host + "/test.txt", .headers = {{"Range", "bytes=0-9"}}}, empty_hash) ==
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  CHECK(signature_of({.method = "PUT",
                      .url = host + "/" + zp::percent_encode("test$file.text", true),
                      .headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                                  {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}},
                     to_hex(sha256_of("Welcome to Amazon S3."))) ==
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  CHECK(signature_of({.url = host + "/?" + canonical_query({{"lifecycle", ""}})}, empty_hash) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  CHECK(signature_of({.url = host + "/?" + canonical_query({{"prefix", "J"}, {"max-keys", "2"}})},
                     empty_hash) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("s3: a presigned URL is that of the documentation of S3") {
  const auto url = zp::web_url::parse("https://examplebucket.s3.amazonaws.com/test.txt").value();
  CHECK(presign_v4("GET", url, example, in_2013, 86400)
            .ends_with("&X-Amz-Signature="
                       "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"));
}

TEST_CASE("s3: the vector get-vanilla of AWS' test suite") {
  zp::http_request request{.url = "https://example.amazonaws.com/"};
  sign_v4(request, empty_hash,
          {.access_key = "AKIDEXAMPLE", .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
          {.region = "us-east-1", .service = "service", .now = 1440938160});
  CHECK(*zp::find_header(request.headers, "Authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST_CASE("s3: a session token is sent and signed, and keys are shown to nobody") {
  zp::http_request request{.url = "https://b.s3.amazonaws.com/k"};
  zp::aws_credentials by = example;
  by.session_token = "token";
  request.headers = {{"Accept-Encoding", "identity"}};  // which front ends change
  sign_v4(request, unsigned_payload, by, in_2013);
  CHECK(*zp::find_header(request.headers, "x-amz-security-token") == "token");
  CHECK(zp::find_header(request.headers, "Authorization")
            ->find("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,") !=
        std::string::npos);
  CHECK(zp::to_string(by) == "AKIA****");
  CHECK(zp::to_string(zp::aws_credentials{.access_key = "short", .secret_key = ""}) == "****");
}

}  // namespace s3_sign_tests
