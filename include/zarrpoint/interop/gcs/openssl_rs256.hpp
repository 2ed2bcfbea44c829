// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// An `rs256_signer` by OpenSSL: `gcs_login::automatic(openssl_rs256)`. Errors: `invalid_argument`
/// for what is not a private key of RSA, which is not shown.
inline result<std::string> openssl_rs256(std::string_view private_key, std::string_view text) {
  const std::unique_ptr<BIO, int (*)(BIO*)> from(
      BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())), &BIO_free);
  const auto no_password = [](char*, int, int, void*) { return 0; };
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
      PEM_read_bio_PrivateKey(from.get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  const error refuse{errc::invalid_argument, "the key of a service account is not one of RSA"};
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) return refuse;
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> by(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::string out(static_cast<std::size_t>(EVP_PKEY_size(key.get())), '\0');
  std::size_t size = out.size();
  if (EVP_DigestSignInit(by.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(by.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes,
                     text.size()) != 1)
    return refuse;
  out.resize(size);
  return out;
}

}}  // namespace zarrpoint::v0
