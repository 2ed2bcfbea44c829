// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_numbers.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/zip/zip_directory.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE error zip_corrupt(std::string what) {
  return {errc::corrupt, "zip: " + std::move(what)};
}

ZARRPOINT_INLINE error zip_unsupported(std::string what) {
  return {errc::unsupported, "zip: " + std::move(what)};
}

/// `size` bytes of the archive, which must have them.
ZARRPOINT_INLINE result<std::vector<std::byte>> read_zip_range(const blob& from,
                                                               std::uint64_t offset,
                                                               std::uint64_t size) {
  if (offset > from.size() || size > from.size() - offset) return zip_corrupt("it is cut short");
  std::vector<std::byte> out(static_cast<std::size_t>(size));
  ZARRPOINT_CHECK(from.read(offset, out));
  return out;
}

/// The values of the zip64 end record in place of those that do not fit the other one. A value
/// that does fit must be the same in both, so that no two readers see two archives.
ZARRPOINT_INLINE result<zip_directory_place> read_zip_end64(const blob& archive,
                                                            std::uint64_t end_offset,
                                                            const zip_directory_place& narrow) {
  zip_directory_place out = narrow;
  std::uint64_t directory_limit = end_offset;
  std::vector<std::byte> bytes;
  if (end_offset >= zip_locator_size) {
    ZARRPOINT_TRY(read, read_zip_range(archive, end_offset - zip_locator_size, zip_locator_size));
    bytes = std::move(read);
  }
  zip_cursor locator(bytes);
  if (locator.take<std::uint32_t>() == zip_locator_mark) {
    const auto disk = locator.take<std::uint32_t>();
    const auto offset = locator.take<std::uint64_t>();
    if (disk != 0 || locator.take<std::uint32_t>() > 1)
      return zip_unsupported("archives of several volumes");
    if (offset > end_offset - zip_locator_size) return zip_corrupt("no zip64 end record");
    ZARRPOINT_TRY(record, read_zip_range(archive, offset, zip_end64_size));
    zip_cursor end(record);
    if (end.take<std::uint32_t>() != zip_end64_mark) return zip_corrupt("no zip64 end record");
    end.bytes(12);
    const auto disks = end.take<std::uint64_t>();
    const auto entries_here = end.take<std::uint64_t>();
    out.entries = end.take<std::uint64_t>();
    out.size = end.take<std::uint64_t>();
    out.offset = end.take<std::uint64_t>();
    if (disks != 0 || entries_here != out.entries)
      return zip_unsupported("archives of several volumes");
    if ((narrow.entries != zip_full16 && narrow.entries != out.entries) ||
        (narrow.size != zip_full32 && narrow.size != out.size) ||
        (narrow.offset != zip_full32 && narrow.offset != out.offset))
      return zip_corrupt("its two end records contradict each other");
    directory_limit = offset;
  } else if (narrow.size == zip_full32 || narrow.offset == zip_full32) {
    return zip_corrupt("no zip64 end record");
  }
  if (out.offset > directory_limit || out.size > directory_limit - out.offset)
    return zip_corrupt("its directory lies outside the file");
  return out;
}

/// The end record says where the directory is. A comment may follow it, but hardly ever does: a
/// short tail is looked at first.
ZARRPOINT_INLINE result<zip_directory_place> find_zip_directory(const blob& archive) {
  if (archive.size() < zip_end_size) return zip_corrupt("too small for an archive");
  for (const std::size_t comment : {std::size_t{1000}, std::size_t{zip_full16}}) {
    const std::uint64_t tail_size = std::min<std::uint64_t>(archive.size(), zip_end_size + comment);
    const std::uint64_t tail_offset = archive.size() - tail_size;
    ZARRPOINT_TRY(tail, read_zip_range(archive, tail_offset, tail_size));
    for (std::size_t at = tail.size() - zip_end_size + 1; at-- > 0;) {
      if (load_le<std::uint32_t>(tail.data() + at) != zip_end_mark) continue;
      zip_cursor end(bytes_view(tail).subspan(at + 4));
      const auto disk = end.take<std::uint16_t>();
      const auto directory_disk = end.take<std::uint16_t>();
      const auto entries_here = end.take<std::uint16_t>();
      zip_directory_place out;
      out.entries = end.take<std::uint16_t>();
      out.size = end.take<std::uint32_t>();
      out.offset = end.take<std::uint32_t>();
      // The mark by chance, in a comment.
      if (end.take<std::uint16_t>() != end.left()) continue;
      if (disk != directory_disk || (disk != 0 && disk != zip_full16) ||
          entries_here != out.entries)
        return zip_unsupported("archives of several volumes");
      return read_zip_end64(archive, tail_offset + at, out);
    }
  }
  return zip_corrupt(
      "the end of central directory record is missing: the file is cut short or is not a zip "
      "archive");
}

/// Replaces what is full in 32 bits by the values of the zip64 extra field.
ZARRPOINT_INLINE result<void> widen_zip_sizes(zip_cursor extra,
                                              std::initializer_list<std::uint64_t*> values) {
  zip_cursor wide{bytes_view()};
  while (extra.left() >= 4) {
    const auto id = extra.take<std::uint16_t>();
    const bytes_view field = extra.bytes(extra.take<std::uint16_t>());
    if (id == zip_extra_zip64) wide = zip_cursor(field);
  }
  for (std::uint64_t* value : values)
    if (*value == zip_full32) *value = wide.take<std::uint64_t>();
  if (!extra.ok() || !wide.ok()) return zip_corrupt("an extra field is cut short");
  return {};
}

/// The name in Info-ZIP's extra field, if its checksum is that of the raw name: else the member was
/// renamed since.
ZARRPOINT_INLINE std::string utf8_zip_name(const std::string& raw, zip_cursor extra) {
  std::string out = raw;
  while (extra.left() >= 4) {
    const auto id = extra.take<std::uint16_t>();
    zip_cursor field(extra.bytes(extra.take<std::uint16_t>()));
    if (id != zip_extra_unicode_path || field.left() <= 5) continue;
    const auto version = field.take<std::uint8_t>();
    const auto sum = field.take<std::uint32_t>();
    if (version == 1 && sum == crc32(0, as_bytes(std::string_view(raw))))
      out = as_text(field.bytes(field.left()));
  }
  return out;
}

ZARRPOINT_INLINE const std::string& raw_zip_name(const zip_member& member) {
  return member.raw_name.empty() ? member.name : member.raw_name;
}

ZARRPOINT_INLINE result<zip_member> read_zip_entry(zip_cursor& directory) {
  if (directory.take<std::uint32_t>() != zip_entry_mark)
    return zip_corrupt("an entry of the directory is damaged");
  zip_member out;
  directory.bytes(4);
  out.flags = directory.take<std::uint16_t>();
  out.method = directory.take<std::uint16_t>();
  directory.bytes(4);
  out.crc32 = directory.take<std::uint32_t>();
  out.stored_size = directory.take<std::uint32_t>();
  out.size = directory.take<std::uint32_t>();
  const auto name_size = directory.take<std::uint16_t>();
  const auto extra_size = directory.take<std::uint16_t>();
  const auto comment_size = directory.take<std::uint16_t>();
  const auto disk = directory.take<std::uint16_t>();
  directory.bytes(6);
  out.header_offset = directory.take<std::uint32_t>();
  out.name = as_text(directory.bytes(name_size));
  const zip_cursor extra(directory.bytes(extra_size));
  directory.bytes(comment_size);
  if (!directory.ok()) return zip_corrupt("its directory is cut short");
  if (extra.left() != 0) {
    if (std::string utf8 = utf8_zip_name(out.name, extra); utf8 != out.name)
      out.raw_name = std::exchange(out.name, std::move(utf8));
  }
  const auto called = [&out] { return "member " + in_quotes(out.name); };
  if (result<void> widened =
          widen_zip_sizes(extra, {&out.size, &out.stored_size, &out.header_offset});
      !widened)
    return std::move(widened).at(called()).failure();
  if (disk != 0 && disk != zip_full16) return zip_unsupported("archives of several volumes");
  if ((out.flags & zip_encrypted) != 0) return zip_unsupported(called() + " is encrypted");
  if ((out.flags & zip_patched) != 0) return zip_unsupported(called() + " is a patch");
  if (out.method == 0 && out.size != out.stored_size)
    return zip_corrupt(called() + " is not compressed, but its two sizes differ");
  // Deflate makes at most 1032 bytes of one: more is not believed, so that it takes no memory.
  if (out.method == 8 && out.size / 1032 > out.stored_size)
    return zip_corrupt(called() + " states a size that deflate cannot reach");
  return out;
}

/// Each member must end before the next one begins, the last before the directory: no byte of the
/// file is read as two members, so that a small file cannot be a large archive.
ZARRPOINT_INLINE result<void> check_zip_overlaps(std::vector<zip_member>& members,
                                                 std::uint64_t directory_offset) {
  std::vector<numbered_place> ordered;
  ordered.reserve(members.size());
  for (const zip_member& member : members)
    ordered.push_back({member.header_offset, ordered.size()});
  sort_numbers(ordered);
  std::uint64_t limit = directory_offset;
  for (auto at = ordered.rbegin(); at != ordered.rend(); ++at) {
    zip_member& member = members[at->place];
    const std::uint64_t header = zip_local_size + raw_zip_name(member).size();
    if (member.header_offset > limit || header > limit - member.header_offset ||
        member.stored_size > limit - member.header_offset - header)
      return zip_corrupt("member " + in_quotes(member.name) +
                         " overlaps what comes after it, or lies outside the file");
    member.end_limit = limit;
    limit = member.header_offset;
  }
  return {};
}

ZARRPOINT_INLINE result<std::vector<zip_member>> read_zip_directory(const blob& archive,
                                                                    std::uint64_t max_bytes) {
  ZARRPOINT_TRY(place, detail::find_zip_directory(archive));
  if (place.size > max_bytes)
    return error{errc::resource_limit, "zip: its directory has " + std::to_string(place.size) +
                                           " bytes, more than the limit of " +
                                           std::to_string(max_bytes)};
  if (place.entries > place.size / detail::zip_entry_size)
    return detail::zip_corrupt("its directory is cut short");
  ZARRPOINT_TRY(bytes, detail::read_zip_range(archive, place.offset, place.size));
  detail::zip_cursor directory(bytes);
  std::vector<zip_member> out;
  out.reserve(static_cast<std::size_t>(place.entries));
  for (std::uint64_t i = 0; i < place.entries; ++i) {
    ZARRPOINT_TRY(member, detail::read_zip_entry(directory));
    out.push_back(std::move(member));
  }
  if (directory.left() != 0)
    return detail::zip_corrupt("its directory has more entries than its end record states");
  ZARRPOINT_CHECK(detail::check_zip_overlaps(out, place.offset));
  return out;
}

ZARRPOINT_INLINE result<std::uint64_t> zip_data_offset(const blob& archive,
                                                       const zip_member& member) {
  const std::size_t size = zip_local_size + raw_zip_name(member).size();
  ZARRPOINT_TRY(head, read_zip_range(archive, member.header_offset, size));
  if (load_le<std::uint32_t>(head.data() + 18) == zip_full32 ||
      load_le<std::uint32_t>(head.data() + 22) == zip_full32) {  // the two sizes
    const std::size_t extra = load_le<std::uint16_t>(head.data() + 28);
    ZARRPOINT_TRY(whole, read_zip_range(archive, member.header_offset, size + extra));
    head = std::move(whole);
  }
  return zip_data_offset(head, member);
}

ZARRPOINT_INLINE result<std::uint64_t> zip_data_offset(bytes_view local_header,
                                                       const zip_member& member) {
  const auto wrong = [&](const char* what) {
    return detail::zip_corrupt("member " + detail::in_quotes(member.name) + ": " + what);
  };
  const std::string& raw_name = detail::raw_zip_name(member);
  detail::zip_cursor header(local_header);
  if (header.take<std::uint32_t>() != detail::zip_local_mark) return wrong("no local header");
  header.bytes(2);
  const auto flags = header.take<std::uint16_t>();
  const auto method = header.take<std::uint16_t>();
  header.bytes(4);
  const auto crc = header.take<std::uint32_t>();
  std::uint64_t stored_size = header.take<std::uint32_t>();
  std::uint64_t size = header.take<std::uint32_t>();
  const auto name_size = header.take<std::uint16_t>();
  const auto extra_size = header.take<std::uint16_t>();
  const std::uint64_t before = detail::zip_local_size + std::uint64_t{name_size} + extra_size;
  const bool same = ((flags ^ member.flags) & detail::zip_encrypted) == 0 &&
                    method == member.method && name_size == raw_name.size() &&
                    as_text(header.bytes(name_size)) == raw_name;
  if (!same) return wrong("its local header belongs to another member");
  if (before > member.end_limit - member.header_offset ||
      member.stored_size > member.end_limit - member.header_offset - before)
    return wrong("it overlaps what comes after it, or lies outside the file");
  if ((flags & detail::zip_sizes_follow) == 0) {
    if (size == detail::zip_full32 || stored_size == detail::zip_full32) {
      const zip_cursor extra(header.bytes(extra_size));
      ZARRPOINT_CHECK(
          widen_zip_sizes(extra, {&size, &stored_size}).at("member " + in_quotes(member.name)));
    }
    if (crc != member.crc32 || size != member.size || stored_size != member.stored_size)
      return wrong("its local header contradicts the directory");
  }
  return member.header_offset + before;
}

}}}  // namespace zarrpoint::v0::detail
