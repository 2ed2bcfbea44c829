// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/config.hpp>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------- options.hpp

ZARRPOINT_INLINE std::vector<codec_spec> raw_codecs() {
  return {{"bytes", node::object{{"endian", "little"}}}};
}

ZARRPOINT_INLINE std::vector<codec_spec> zstd_codecs(int level) {
  return {{"bytes", node::object{{"endian", "little"}}}, {"zstd", level}, {"crc32c"}};
}

ZARRPOINT_INLINE std::vector<codec_spec> blosc_codecs(int level) {
  return {{"bytes", node::object{{"endian", "little"}}}, {"blosc", level}, {"crc32c"}};
}

ZARRPOINT_INLINE result<void> detail::check_cast(const dtype& from, const dtype& to) {
  if (from.castable_to(to)) return {};
  return error{errc::unsupported, "no cast from " + std::string(to_string(from)) + " to " +
                                      std::string(to_string(to))};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/type_bodies.hpp>
#endif
