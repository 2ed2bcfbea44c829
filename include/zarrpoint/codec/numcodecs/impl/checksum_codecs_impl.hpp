// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/checksums.hpp>
#include <zarrpoint/codec/numcodecs/checksum_codecs.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<fletcher32_codec> fletcher32_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {}));
  static_cast<void>(reader);
  return fletcher32_codec{};
}

ZARRPOINT_INLINE result<jenkins_lookup3_codec> jenkins_lookup3_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"initval", "prefix"}));
  ZARRPOINT_TRY(initial, reader.integer("initval", 0, UINT32_MAX));
  const node* const prefix = reader.find("prefix");
  if (prefix != nullptr && !prefix->is_null())
    return error{errc::unsupported, "a \"prefix\" other than null"};
  jenkins_lookup3_codec out;
  if (initial) out.initial = static_cast<std::uint32_t>(*initial);
  return out;
}

ZARRPOINT_INLINE node jenkins_lookup3_codec::configuration() const {
  return node::object{{"initval", static_cast<std::int64_t>(initial)}, {"prefix", node()}};
}

}}  // namespace zarrpoint::v0
