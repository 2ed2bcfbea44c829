// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/gcs_openssl.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace gcs_openssl_tests {

namespace zp = zarrpoint;

TEST_CASE("gcs: a signature by OpenSSL is one that it verifies") {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  const std::unique_ptr<BIO, int (*)(BIO*)> to(BIO_new(BIO_s_mem()), &BIO_free);
  REQUIRE(PEM_write_bio_PrivateKey(to.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
          1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(to.get(), &bytes);
  const std::string pem(bytes, static_cast<std::size_t>(size)), text = "head.claim";
  const std::string signature = zp::openssl_rs256(pem, text).value();
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> by(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  REQUIRE(EVP_DigestVerifyInit(by.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1);
  CHECK(EVP_DigestVerify(by.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                         signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                         text.size()) == 1);
  for (const std::string& broken : {std::string(), std::string("SEEN"), pem.substr(0, 200)}) {
    const auto none = zp::openssl_rs256(broken, text);
    REQUIRE_FALSE(none);
    CHECK(none.failure().code == zp::errc::invalid_argument);
    CHECK(none.failure().message.find("SEEN") == std::string::npos);
  }
}

}  // namespace gcs_openssl_tests
