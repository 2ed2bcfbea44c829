// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

namespace blob_test {

using namespace zarrpoint;

static_assert(detail::blob_leaf<json_text> && !savable<json_text> && !loadable<json_text>);
static_assert(detail::blob_leaf<byte_string> && !detail::blob_leaf<std::string> &&
              !detail::blob_leaf<float>);

TEST_CASE("JSON text goes to bytes and back as it is") {
  const json_text value{"{\"a\": [1, 2]}\n\xc3\xa9"};
  const std::vector<std::byte> bytes = handler_of<json_text>::to_bytes(value);
  CHECK(bytes.size() == value.text.size());
  CHECK(handler_of<json_text>::from_bytes(bytes).value() == value);
  CHECK(handler_of<json_text>::from_bytes({}).value().text.empty());
  CHECK(handler_of<json_text>::typestr == "json");
}

TEST_CASE("bytes go there and back, zeros included") {
  const byte_string value{{std::byte{0}, std::byte{255}, std::byte{0}}};
  CHECK(handler_of<byte_string>::from_bytes(handler_of<byte_string>::to_bytes(value)).value() ==
        value);
  CHECK(handler_of<byte_string>::typestr == "bytes");
}

}  // namespace blob_test
