// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// An answer of S3 or of Google Cloud Storage: a list of objects, an error, keys or a token.

#include <zarrpoint/gcs.hpp>
#include <zarrpoint/s3.hpp>

#include "fuzz.hpp"

#include <cstdint>
#include <string_view>

namespace {

using namespace fuzz;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t given = 0;
  const auto read = zp::detail::for_each_xml_text(
      text, [&](std::string_view, const std::string& part) { given += part.size(); });
  require(given <= size, "a document becomes no larger than it is");
  require(read || read.failure().code == zp::errc::corrupt, "what is broken is called so");
  if (const auto page = zp::detail::parse_s3_listing(text)) {
    require(read.has_value(), "a list is XML");
    for (const auto& one : page->objects) require(!one.key.empty(), "an object has a key");
  }
  const auto problem = zp::detail::parse_s3_problem(text);
  require(read || problem.code.empty(), "a broken error says nothing");
  if (const auto page = zp::detail::parse_gcs_listing(text)) {
    for (const auto& one : page->objects) require(!one.key.empty(), "an object has a name");
  }
  if (const auto token = zp::detail::parse_google_token(text, "it"))
    require(!token->token.empty() && token->expires, "a token is one, and ends");
  if (const auto keys = zp::detail::parse_aws_keys(text, "it"))
    require(!keys->access_key.empty() && !keys->secret_key.empty(), "keys are two");
  static_cast<void>(zp::detail::parse_gcs_object(text));
  static_cast<void>(zp::detail::service_account_claim(
      text, 1, [](std::string_view key, std::string_view) -> zp::result<std::string> {
        require(!key.empty(), "it is signed by a key");
        return std::string("signature");
      }));
  static_cast<void>(zp::detail::ini_section(text, "default"));
  return 0;
}
