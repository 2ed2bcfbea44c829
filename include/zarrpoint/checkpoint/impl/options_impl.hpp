// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>

#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::vector<codec_spec> raw_codecs() {
  return {{"bytes", node::object{{"endian", "little"}}}};
}

ZARRPOINT_INLINE std::vector<codec_spec> zstd_codecs(int level) {
  return {{"bytes", node::object{{"endian", "little"}}}, {"zstd", level}, {"crc32c"}};
}

ZARRPOINT_INLINE std::vector<codec_spec> blosc_codecs(int level) {
  return {{"bytes", node::object{{"endian", "little"}}}, {"blosc", level}, {"crc32c"}};
}

}}  // namespace zarrpoint::v0
