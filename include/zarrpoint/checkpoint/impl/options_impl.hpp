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
  return {{"bytes", node::object{{"endian", "little"}}},
          {"zstd", node::object{{"level", level}, {"checksum", false}}},
          {"crc32c", node()}};
}

ZARRPOINT_INLINE std::vector<codec_spec> blosc_codecs(int level) {
  return {{"bytes", node::object{{"endian", "little"}}},
          {"blosc",
           node::object{
               {"cname", "zstd"}, {"clevel", level}, {"shuffle", "shuffle"}, {"blocksize", 0}}},
          {"crc32c", node()}};
}

}}  // namespace zarrpoint::v0
