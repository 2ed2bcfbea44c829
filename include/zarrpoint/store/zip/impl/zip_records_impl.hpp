// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// 1980-01-01 00:00, the first date there is: the same data give the same file.
inline constexpr std::uint32_t zip_no_date = 0x00210000;

inline constexpr std::uint16_t zip_extra_padding = 0xd935;

ZARRPOINT_INLINE bytes_view zip_cursor::bytes(std::size_t count) noexcept {
  if (bytes_.size() < count) {
    ok_ = false;
    count = bytes_.size();
  }
  const bytes_view out = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return out;
}

ZARRPOINT_INLINE std::uint32_t zip_narrow(std::uint64_t value) noexcept {
  return value >= zip_full32 ? zip_full32 : static_cast<std::uint32_t>(value);
}

ZARRPOINT_INLINE void append_zip_common(std::string& out, const zip_member& member) {
  append_le<std::uint16_t>(out, member.flags);
  append_le<std::uint16_t>(out, member.method);
  append_le<std::uint32_t>(out, zip_no_date);
  append_le<std::uint32_t>(out, member.crc32);
}

ZARRPOINT_INLINE std::string zip_local_header(const zip_member& member, std::size_t total) {
  const bool wide = member.size >= zip_full32 || member.stored_size >= zip_full32;
  const std::size_t extra = total - zip_local_size - member.name.size();
  std::string out;
  out.reserve(total);
  append_le<std::uint32_t>(out, zip_local_mark);
  append_le<std::uint16_t>(out, wide ? 45 : 20);
  append_zip_common(out, member);
  append_le<std::uint32_t>(out, wide ? zip_full32 : zip_narrow(member.stored_size));
  append_le<std::uint32_t>(out, wide ? zip_full32 : zip_narrow(member.size));
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(member.name.size()));
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(extra));
  out += member.name;
  if (wide) {
    append_le<std::uint16_t>(out, zip_extra_zip64);
    append_le<std::uint16_t>(out, 16);
    append_le<std::uint64_t>(out, member.size);
    append_le<std::uint64_t>(out, member.stored_size);
  }
  append_le<std::uint16_t>(out, zip_extra_padding);
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(total - out.size() - 2));
  out.resize(total, '\0');
  return out;
}

ZARRPOINT_INLINE void append_zip_entry(std::string& out, const zip_member& member) {
  std::string wide;
  for (const std::uint64_t value : {member.size, member.stored_size, member.header_offset})
    if (value >= zip_full32) append_le<std::uint64_t>(wide, value);
  const std::uint16_t version = wide.empty() ? 20 : 45;
  append_le<std::uint32_t>(out, zip_entry_mark);
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(0x0300U | version));  // made on Unix
  append_le<std::uint16_t>(out, version);
  append_zip_common(out, member);
  append_le<std::uint32_t>(out, zip_narrow(member.stored_size));
  append_le<std::uint32_t>(out, zip_narrow(member.size));
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(member.name.size()));
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(wide.empty() ? 0 : wide.size() + 4));
  append_le<std::uint16_t>(out, 0);           // comment
  append_le<std::uint32_t>(out, 0);           // disk, internal attributes
  append_le<std::uint32_t>(out, 0x81a40000);  // a regular file, mode 0644
  append_le<std::uint32_t>(out, zip_narrow(member.header_offset));
  out += member.name;
  if (wide.empty()) return;
  append_le<std::uint16_t>(out, zip_extra_zip64);
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(wide.size()));
  out += wide;
}

ZARRPOINT_INLINE void append_zip_end(std::string& out, const zip_directory_place& place) {
  if (place.entries >= zip_full16 || place.size >= zip_full32 || place.offset >= zip_full32) {
    append_le<std::uint32_t>(out, zip_end64_mark);
    append_le<std::uint64_t>(out, zip_end64_size - 12);
    append_le<std::uint16_t>(out, 45);
    append_le<std::uint16_t>(out, 45);
    append_le<std::uint64_t>(out, 0);  // both disk numbers
    append_le<std::uint64_t>(out, place.entries);
    append_le<std::uint64_t>(out, place.entries);
    append_le<std::uint64_t>(out, place.size);
    append_le<std::uint64_t>(out, place.offset);
    append_le<std::uint32_t>(out, zip_locator_mark);
    append_le<std::uint32_t>(out, 0);
    append_le<std::uint64_t>(out, place.offset + place.size);
    append_le<std::uint32_t>(out, 1);
  }
  const auto entries =
      static_cast<std::uint16_t>(place.entries >= zip_full16 ? zip_full16 : place.entries);
  append_le<std::uint32_t>(out, zip_end_mark);
  append_le<std::uint32_t>(out, 0);  // both disk numbers
  append_le<std::uint16_t>(out, entries);
  append_le<std::uint16_t>(out, entries);
  append_le<std::uint32_t>(out, zip_narrow(place.size));
  append_le<std::uint32_t>(out, zip_narrow(place.offset));
  append_le<std::uint16_t>(out, 0);  // comment
}

}}}  // namespace zarrpoint::v0::detail
