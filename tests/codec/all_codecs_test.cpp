// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/lists/all_codecs.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace all_codecs_test {

namespace zp = zarrpoint;

TEST_CASE("all_codecs: every codec that an error may name") {
  const zp::codec_table table = zp::all_codecs::table();
  for (const auto& one : zp::detail::known_codecs) {
    CAPTURE(one.name);
    const std::string name = "numcodecs." + std::string(one.name);
    const bool found = table.find(name) != nullptr || table.find(one.name) != nullptr;
    CHECK(found == (one.door != zp::detail::codec_door::zfp));  // which needs a library of its own
  }
  for (const auto& one : zp::detail::refused_codecs) CHECK(table.find(one.name) == nullptr);
}

}  // namespace all_codecs_test
