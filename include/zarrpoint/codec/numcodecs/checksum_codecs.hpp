// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/checksums.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// Where a checksum stands: before the bytes or after them.
enum class checksum_location : std::uint8_t { start, end };

namespace detail {

/// The bytes and a checksum of theirs, a little-endian uint32. `Self` has `location` and
/// `sum(bytes)`.
template <class Self>
struct checksum_codec {
  static constexpr bool fixed_size = true;
  static constexpr std::size_t sum_size = sizeof(std::uint32_t);

  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    return decoded > UINT64_MAX - sum_size ? UINT64_MAX : decoded + sum_size;
  }
  result<std::size_t> encode_in_place(mutable_bytes buffer, std::size_t used) const {
    if (buffer.size() - used < sum_size)
      return error{errc::out_of_range, "no room for the checksum"};
    const std::uint32_t sum = self().sum(buffer.first(used));
    if (self().location == checksum_location::end) {
      store_le<std::uint32_t>(buffer.data() + used, sum);
    } else {
      std::memmove(buffer.data() + sum_size, buffer.data(), used);
      store_le<std::uint32_t>(buffer.data(), sum);
    }
    return used + sum_size;
  }
  result<bytes_view> decode_in_place(bytes_view stored) const {
    if (stored.size() < sum_size)
      return error{errc::corrupt,
                   std::to_string(stored.size()) + " bytes are too few for a checksum"};
    const std::size_t size = stored.size() - sum_size;
    const bool at_end = self().location == checksum_location::end;
    const bytes_view body = at_end ? stored.first(size) : stored.last(size);
    const auto expected = load_le<std::uint32_t>(stored.data() + (at_end ? size : 0));
    const std::uint32_t actual = self().sum(body);
    if (actual != expected)
      return error{errc::corrupt, "checksum mismatch: stored " + std::to_string(expected) +
                                      ", computed " + std::to_string(actual) + " over " +
                                      std::to_string(size) + " bytes"};
    return body;
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

/// One whose place is an option, `location`.
template <class Self, checksum_location Default>
struct located_checksum_codec : checksum_codec<Self> {
  checksum_location location = Default;

  static result<Self> from_configuration(const node& configuration) {
    ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"location"}));
    ZARRPOINT_TRY(text, reader.text("location"));
    Self out;
    if (text && *text != "start" && *text != "end")
      return error{errc::invalid_argument, "\"location\" is neither \"start\" nor \"end\""};
    if (text) out.location = *text == "start" ? checksum_location::start : checksum_location::end;
    return out;
  }
  /// What is the default is left out: numcodecs before 0.14 knows no such option.
  node configuration() const {
    node out{node::object{}};
    if (location != Default)
      out.set("location", location == checksum_location::start ? "start" : "end");
    return out;
  }
};

}  // namespace detail

/// The codec `numcodecs.crc32`: the CRC-32 of zlib, then the bytes.
struct crc32_codec : detail::located_checksum_codec<crc32_codec, checksum_location::start> {
  static constexpr std::string_view name = "numcodecs.crc32";
  static std::uint32_t sum(bytes_view data) { return crc32(data); }
};

/// The codec `numcodecs.adler32`: the Adler-32 of zlib, then the bytes.
struct adler32_codec : detail::located_checksum_codec<adler32_codec, checksum_location::start> {
  static constexpr std::string_view name = "numcodecs.adler32";
  static std::uint32_t sum(bytes_view data) { return adler32(data); }
};

/// The codec `numcodecs.crc32c`: like `crc32c` unless its checksum stands at the start.
struct located_crc32c_codec
    : detail::located_checksum_codec<located_crc32c_codec, checksum_location::end> {
  static constexpr std::string_view name = "numcodecs.crc32c";
  static std::uint32_t sum(bytes_view data) { return crc32c(data); }
};

/// The codec `numcodecs.fletcher32`: the bytes, then HDF5's Fletcher-32 of them. No configuration.
struct fletcher32_codec : detail::checksum_codec<fletcher32_codec> {
  static constexpr std::string_view name = "numcodecs.fletcher32";
  static constexpr checksum_location location = checksum_location::end;

  static result<fletcher32_codec> from_configuration(const node& configuration);
  node configuration() const { return node::object{}; }
  static std::uint32_t sum(bytes_view data) { return fletcher32(data); }
};

/// The codec `numcodecs.jenkins_lookup3`: the bytes, then their hash by lookup3. A `prefix`, which
/// numcodecs hashes before the bytes, cannot be written as JSON there: only null is read.
struct jenkins_lookup3_codec : detail::checksum_codec<jenkins_lookup3_codec> {
  static constexpr std::string_view name = "numcodecs.jenkins_lookup3";
  static constexpr checksum_location location = checksum_location::end;

  std::uint32_t initial = 0;

  static result<jenkins_lookup3_codec> from_configuration(const node& configuration);
  node configuration() const;
  std::uint32_t sum(bytes_view data) const { return jenkins_lookup3(data, initial); }
};

}}  // namespace zarrpoint::v0
