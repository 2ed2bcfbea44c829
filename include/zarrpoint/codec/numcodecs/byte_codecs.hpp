// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/checksums.hpp>
#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/lz_blocks.hpp>
#include <zarrpoint/codec/kit/shuffle.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.base64`: RFC 4648, padded, without line breaks. It has no configuration.
struct base64_codec {
  static constexpr std::string_view name = "numcodecs.base64";
  static constexpr bool fixed_size = true;

  void fields(configuration_fields&) {}

  std::uint64_t encoded_bound(std::uint64_t decoded) const;
  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const;
};

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

  /// What is the default is left out: numcodecs before 0.14 knows no such option.
  void fields(configuration_fields& all) {
    constexpr std::string_view names[] = {"start", "end"};
    all.choice("location", location, names, location != Default);
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

  void fields(configuration_fields&) {}
  static std::uint32_t sum(bytes_view data) { return fletcher32(data); }
};

/// The codec `numcodecs.jenkins_lookup3`: the bytes, then their hash by lookup3. A `prefix`, which
/// numcodecs hashes before the bytes, cannot be written as JSON there: only null is read.
struct jenkins_lookup3_codec : detail::checksum_codec<jenkins_lookup3_codec> {
  static constexpr std::string_view name = "numcodecs.jenkins_lookup3";
  static constexpr checksum_location location = checksum_location::end;

  std::uint32_t initial = 0;

  void fields(configuration_fields& all);
  std::uint32_t sum(bytes_view data) const { return jenkins_lookup3(data, initial); }
};

/// The codec `numcodecs.lz4`: the number of decoded bytes as a little-endian int32, then one LZ4
/// block. N5 has another format of that name.
struct lz4_codec {
  static constexpr std::string_view name = "numcodecs.lz4";
  static constexpr bool fixed_size = false;
  static constexpr std::size_t header = sizeof(std::uint32_t);

  int acceleration = 1;  ///< of the encoder of numcodecs; changes nothing here

  void fields(configuration_fields& all);

  std::uint64_t encoded_bound(std::uint64_t decoded) const;
  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const;
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const;
};

/// The filter `numcodecs.packbits`: bytes that are 0 or not as bits, the highest of a byte first,
/// after a byte that counts the unused bits at the end. The registered codec `packbits` has another
/// layout: see packbits.hpp.
struct numcodecs_packbits_codec {
  static constexpr std::string_view name = "numcodecs.packbits";

  void fields(configuration_fields&) {}

  result<numcodecs_packbits_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const;

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;

 private:
  static std::size_t unused(std::size_t count) { return (8 - count % 8) % 8; }
  static void put(const mutable_host_view& to, std::size_t i, std::byte value);
};

/// The codec `numcodecs.shuffle`: byte shuffle of the whole chunk, which must be a whole number of
/// `elementsize` bytes. Without one it is the size of the array's elements, as in zarr-python.
struct shuffle_codec {
  static constexpr std::string_view name = "numcodecs.shuffle";
  static constexpr bool fixed_size = true;

  std::optional<std::size_t> element_size;  ///< 0 and 1 leave the bytes as they are

  void fields(configuration_fields& all);

  result<shuffle_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const { return stored.size(); }

 private:
  static constexpr std::size_t default_size = 4;  ///< of numcodecs

  std::size_t step() const;
  result<void> check(bytes_view from, mutable_bytes to, errc code) const;
};

}}  // namespace zarrpoint::v0
