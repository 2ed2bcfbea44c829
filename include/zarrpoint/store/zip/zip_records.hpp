// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

// The records of a zip file (PKWARE APPNOTE 6.3.10, section 4.3), as bytes.

/// One file of a zip archive, as its central directory describes it.
struct zip_member {
  /// As it stands there, or as Info-ZIP's extra field for UTF-8 has it; nothing is said about its
  /// characters.
  std::string name;
  std::string raw_name{};  ///< as it stands in both headers, where that is not `name`
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  ///< 0: stored, 8: deflated
  std::uint32_t crc32 = 0;   ///< of the bytes before compression
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;  ///< of its local header
  std::uint64_t end_limit = 0;      ///< what comes next in the file: its bytes end before
};

inline constexpr std::uint32_t zip_local_mark = 0x04034b50;
inline constexpr std::uint32_t zip_entry_mark = 0x02014b50;
inline constexpr std::uint32_t zip_end_mark = 0x06054b50;
inline constexpr std::uint32_t zip_end64_mark = 0x06064b50;
inline constexpr std::uint32_t zip_locator_mark = 0x07064b50;

inline constexpr std::size_t zip_local_size = 30;
inline constexpr std::size_t zip_entry_size = 46;
inline constexpr std::size_t zip_end_size = 22;
inline constexpr std::size_t zip_end64_size = 56;
inline constexpr std::size_t zip_locator_size = 20;

/// What stands in a field whose value is in a zip64 record.
inline constexpr std::uint16_t zip_full16 = 0xffff;
inline constexpr std::uint32_t zip_full32 = 0xffffffff;

/// Bits of the flags.
inline constexpr std::uint16_t zip_encrypted = 1U << 0 | 1U << 6 | 1U << 13;
inline constexpr std::uint16_t zip_patched = 1U << 5;
inline constexpr std::uint16_t zip_sizes_follow = 1U << 3;  ///< in a data descriptor
inline constexpr std::uint16_t zip_utf8 = 1U << 11;

/// Extra fields: sizes of 64 bits, and the name in UTF-8 (Info-ZIP's).
inline constexpr std::uint16_t zip_extra_zip64 = 0x0001;
inline constexpr std::uint16_t zip_extra_unicode_path = 0x7075;

/// The room that an extra field for zip64 and an empty one for padding take in a local header.
inline constexpr std::size_t zip_least_extra = 20 + 6;

/// Little-endian numbers one after another; zeros past the end, which `ok` tells.
class zip_cursor {
 public:
  explicit zip_cursor(bytes_view bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T take() noexcept {
    const bytes_view from = bytes(sizeof(T));
    return from.size() == sizeof(T) ? load_le<T>(from.data()) : T{0};
  }
  bytes_view bytes(std::size_t count) noexcept;
  bool ok() const noexcept { return ok_; }
  std::size_t left() const noexcept { return bytes_.size(); }

 private:
  bytes_view bytes_;
  bool ok_ = true;
};

template <std::unsigned_integral T>
void append_le(std::string& out, std::type_identity_t<T> value) {
  std::byte bytes[sizeof(T)];
  store_le<T>(bytes, value);
  out.append(as_text(bytes));
}

/// Writes a local header that takes all of `into`, of which padding makes up what is not needed; at
/// least `zip_local_size`, the name and `zip_least_extra`. `name` counts, and not that of `member`.
void store_zip_local_header(mutable_bytes into, std::string_view name, const zip_member& member);

/// The same, of `total` bytes.
std::string zip_local_header(const zip_member& member, std::size_t total);

/// The entry of a member in the central directory.
void append_zip_entry(std::string& out, const zip_member& member);

/// Where the central directory is.
struct zip_directory_place {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

/// The records that end an archive; those of zip64 only where they are needed.
void append_zip_end(std::string& out, const zip_directory_place& place);

error zip_corrupt(std::string what);

/// The members of an archive, in the order of its directory (PKWARE APPNOTE 6.3.10, sections 4.3
/// and 4.5.3); a name may be there more than once. Reads nothing but the end of the file. Errors:
/// `corrupt` (cut short, a directory or members outside the file, overlaps), `unsupported`
/// (encryption, several volumes), `resource_limit` when the directory has more than `max_bytes`.
result<std::vector<zip_member>> read_zip_directory(const blob& archive,
                                                   std::uint64_t max_bytes = std::uint64_t{1}
                                                                             << 30);

/// Where the bytes of a member begin. Its local header must say the same as the directory. Errors:
/// `corrupt`.
result<std::uint64_t> zip_data_offset(const blob& archive, const zip_member& member);

/// The same from the local header, whose extra fields may be missing where no size needs them.
result<std::uint64_t> zip_data_offset(bytes_view local_header, const zip_member& member);

/// The name as both headers have it.
const std::string& raw_zip_name(const zip_member& member);

}}}  // namespace zarrpoint::v0::detail
