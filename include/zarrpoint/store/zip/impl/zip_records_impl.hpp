// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// Writes numbers one after another.
class zip_pen {
 public:
  explicit zip_pen(std::byte* to) noexcept : to_(to) {}

  template <std::unsigned_integral T>
  void put(std::type_identity_t<T> value) noexcept {
    store_le<T>(to_, value);
    to_ += sizeof(T);
  }
  void put(std::string_view text) noexcept {
    if (!text.empty()) std::memcpy(to_, text.data(), text.size());
    to_ += text.size();
  }
  /// From the flags to the checksum: what the two kinds of header have in common.
  void put_common(const zip_member& member) noexcept {
    put<std::uint16_t>(member.flags);
    put<std::uint16_t>(member.method);
    put<std::uint32_t>(zip_no_date);
    put<std::uint32_t>(member.crc32);
  }
  void clear_to(const std::byte* end) noexcept {
    std::memset(to_, 0, static_cast<std::size_t>(end - to_));
  }
  const std::byte* at() const noexcept { return to_; }

 private:
  std::byte* to_;
};

ZARRPOINT_INLINE void store_zip_local_header(mutable_bytes into, std::string_view name,
                                             const zip_member& member) {
  const bool wide = member.size >= zip_full32 || member.stored_size >= zip_full32;
  const std::byte* const end = into.data() + into.size();
  const std::size_t extra = into.size() - zip_local_size - name.size();
  zip_pen pen(into.data());
  pen.put<std::uint32_t>(zip_local_mark);
  pen.put<std::uint16_t>(wide ? 45 : 20);
  pen.put_common(member);
  pen.put<std::uint32_t>(wide ? zip_full32 : zip_narrow(member.stored_size));
  pen.put<std::uint32_t>(wide ? zip_full32 : zip_narrow(member.size));
  pen.put<std::uint16_t>(static_cast<std::uint16_t>(name.size()));
  pen.put<std::uint16_t>(static_cast<std::uint16_t>(extra));
  pen.put(name);
  if (wide) {
    pen.put<std::uint16_t>(zip_extra_zip64);
    pen.put<std::uint16_t>(16);
    pen.put<std::uint64_t>(member.size);
    pen.put<std::uint64_t>(member.stored_size);
  }
  pen.put<std::uint16_t>(zip_extra_padding);
  pen.put<std::uint16_t>(static_cast<std::uint16_t>(end - pen.at() - 2));
  pen.clear_to(end);
}

ZARRPOINT_INLINE std::string zip_local_header(const zip_member& member, std::size_t total) {
  std::string out(total, '\0');
  store_zip_local_header({reinterpret_cast<std::byte*>(out.data()), out.size()}, member.name,
                         member);
  return out;
}

ZARRPOINT_INLINE void append_zip_entry(std::string& out, const zip_member& member) {
  std::byte wide[24];
  zip_pen wide_pen(wide);
  for (const std::uint64_t value : {member.size, member.stored_size, member.header_offset})
    if (value >= zip_full32) wide_pen.put<std::uint64_t>(value);
  const auto wide_size = static_cast<std::size_t>(wide_pen.at() - wide);
  const std::uint16_t version = wide_size == 0 ? 20 : 45;
  std::byte fixed[zip_entry_size];
  zip_pen pen(fixed);
  pen.put<std::uint32_t>(zip_entry_mark);
  pen.put<std::uint16_t>(static_cast<std::uint16_t>(0x0300U | version));  // made on Unix
  pen.put<std::uint16_t>(version);
  pen.put_common(member);
  pen.put<std::uint32_t>(zip_narrow(member.stored_size));
  pen.put<std::uint32_t>(zip_narrow(member.size));
  pen.put<std::uint16_t>(static_cast<std::uint16_t>(member.name.size()));
  pen.put<std::uint16_t>(static_cast<std::uint16_t>(wide_size == 0 ? 0 : wide_size + 4));
  pen.put<std::uint16_t>(0);           // comment
  pen.put<std::uint32_t>(0);           // disk, internal attributes
  pen.put<std::uint32_t>(0x81a40000);  // a regular file, mode 0644
  pen.put<std::uint32_t>(zip_narrow(member.header_offset));
  out.append(as_text(fixed));
  out += member.name;
  if (wide_size == 0) return;
  append_le<std::uint16_t>(out, zip_extra_zip64);
  append_le<std::uint16_t>(out, static_cast<std::uint16_t>(wide_size));
  out.append(as_text(bytes_view(wide).first(wide_size)));
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
