// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// An answer of S3: a list of objects, or an error.

#include <zarrpoint/interop/s3/xml_reader.hpp>

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
  return 0;
}
