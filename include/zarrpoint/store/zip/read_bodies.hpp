// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/zip/zip_member_blob.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------- zip_records.hpp

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

/// Each member must end before the next one begins, the last before the directory. No byte of the
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

}  // namespace detail

// ----------------------------------------------------------------------------- zip_member_blob.hpp

ZARRPOINT_INLINE result<std::unique_ptr<zip_decoder>> zip_decoder::copy() const {
  return error{errc::unsupported, "this decoder cannot be copied"};
}

namespace detail {

ZARRPOINT_INLINE result<void> zip_member_blob::check_crc(std::uint32_t crc) const {
  if (crc == member_.crc32) return {};
  return wrong("its bytes do not match its crc32");
}

/// One that is stored as it is: ranges are read where they lie, and the whole can be mapped. The
/// header of a small one, and of any behind a network, is read with the first bytes that are asked
/// for, by one call. That takes an end right before the next member, which they nearly always have.
class zip_stored_blob final : public zip_member_blob {
 public:
  using blob::read;
  /// `begin`: where the bytes are, or 0 to look at the header later, if it `can_wait`.
  zip_stored_blob(const std::shared_ptr<const zip_archive>& archive, const zip_member& member,
                  std::uint64_t begin)
      : zip_member_blob(archive, member, begin),
        bytes_(archive, begin, member.size, zip_member_blob::name()) {}

  static bool can_wait(const blob& file, const zip_member& member) noexcept {
    const bool is_small =
        member.size <= joined_bytes &&
        member.end_limit - member.stored_size - member.header_offset <= joined_header;
    return member.method == 0 && member.size != 0 && (is_small || file.request_bytes() != 0);
  }

  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    if (begin_ != 0) {
      ZARRPOINT_CHECK(bytes_.read(offset, into));
    } else {
      ZARRPOINT_CHECK(check_range(offset, into.size()));
      if (!read_joined(offset, into)) {
        ZARRPOINT_TRY(begin, find());
        ZARRPOINT_CHECK(range_blob(archive_, begin, member_.size, name()).read(offset, into));
      }
    }
    const bool is_whole = into.size() == member_.size && offset == 0;
    return is_whole ? check_crc(crc32(0, into)) : result<void>();
  }
  result<mapping> map() const override {
    if (begin_ != 0) return bytes_.map();
    ZARRPOINT_TRY(begin, find());
    return range_blob(archive_, begin, member_.size, name()).map();
  }

 protected:
  result<void> read_vectored(std::span<const read_request> requests) const override {
    if (requests.size() == 1) return read(requests[0].offset, requests[0].into);
    if (begin_ != 0) {
      ZARRPOINT_CHECK(bytes_.read(requests));
    } else {
      ZARRPOINT_TRY(begin, find());
      ZARRPOINT_CHECK(range_blob(archive_, begin, member_.size, name()).read(requests));
    }
    // Parts in their order may be the whole.
    std::uint64_t end = 0;
    for (const read_request& one : requests) {
      if (one.offset != end) return {};
      end += one.into.size();
    }
    if (end != member_.size) return {};
    std::uint32_t crc = 0;
    for (const read_request& one : requests) crc = crc32(crc, one.into);
    return check_crc(crc);
  }

 private:
  static constexpr std::uint64_t joined_bytes = std::uint64_t{1} << 20;
  static constexpr std::size_t joined_header = 512;

  /// Asks the header where the bytes are, once.
  result<std::uint64_t> find() const {
    if (const std::uint64_t known = found_.load(std::memory_order_relaxed); known != 0)
      return known;
    ZARRPOINT_TRY(begin, zip_data_offset(archive_->file(), member_).at(archive_->file().name()));
    found_.store(begin, std::memory_order_relaxed);
    return begin;
  }

  /// False where the header is known, or is not as it should be, or the bytes lie elsewhere.
  bool read_joined(std::uint64_t offset, mutable_bytes into) const {
    if (found_.load(std::memory_order_relaxed) != 0) return false;
    const std::uint64_t begin = member_.end_limit - member_.stored_size;
    std::byte room[joined_header];
    const mutable_bytes head(room, static_cast<std::size_t>(std::min<std::uint64_t>(
                                       begin - member_.header_offset, joined_header)));
    const read_request requests[] = {{member_.header_offset, head}, {begin + offset, into}};
    if (!archive_->file().read(std::span<const read_request>(&requests[0], 2))) return false;
    const auto found = zip_data_offset(bytes_view(head), member_);
    if (!found || *found != begin) return false;
    found_.store(begin, std::memory_order_relaxed);
    return true;
  }

  range_blob bytes_;
  mutable std::atomic<std::uint64_t> found_{0};
};

/// How far the inflation of a member has come.
struct zip_inflation {
  std::unique_ptr<zip_decoder> decoder;
  std::uint64_t taken = 0;  ///< compressed bytes that the decoder has had
  std::uint64_t made = 0;   ///< bytes that came of them
  std::uint32_t crc = 0;    ///< of those
};

/// One that is deflated. Read whole it is inflated straight to its destination. For ranges a small
/// one is inflated once and kept. A larger one is read in one pass. A read goes on from the nearest
/// place before its range, which is where an earlier read ended, or one of the restart points that
/// are kept on the way. Those take 44 KiB each with zlib, and there are at most `most_points`.
class zip_deflated_blob final : public zip_member_blob {
 public:
  using blob::read;
  using zip_member_blob::zip_member_blob;
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (into.empty() && member_.size != 0) return {};
    if (into.size() == member_.size) return guarded([&] { return read_whole(into); });
    if (member_.size > kept_bytes) return guarded([&] { return read_range(offset, into); });
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) {
      ZARRPOINT_CHECK(guarded([&]() -> result<void> {
        std::vector<std::byte> whole(static_cast<std::size_t>(member_.size));
        ZARRPOINT_CHECK(read_whole(whole));
        kept_ = std::move(whole);
        return {};
      }));
    }
    std::memcpy(into.data(), kept_.data() + offset, into.size());
    return {};
  }

 private:
  static constexpr std::uint64_t kept_bytes = std::uint64_t{16} << 20;
  static constexpr std::size_t piece_bytes = std::size_t{128} << 10;
  static constexpr std::uint64_t most_points = 128;
  static constexpr std::size_t most_ends = 4;  ///< as many threads read one member in order

  /// Compressed bytes as they are wanted.
  struct input {
    std::vector<std::byte> piece;
    bytes_view left;
  };

  std::uint64_t point_distance() const noexcept {
    return std::max(kept_bytes / 16, member_.size / most_points + 1);
  }

  result<void> read_whole(mutable_bytes into) const {
    zip_inflation at;
    ZARRPOINT_TRY(decoder, archive_->inflate());
    at.decoder = std::move(decoder);
    input in;
    ZARRPOINT_CHECK(inflate(at, in, into));
    return check_end(at, in);
  }

  result<void> read_range(std::uint64_t offset, mutable_bytes into) const {
    ZARRPOINT_TRY(at, nearest(offset));
    input in;
    std::vector<std::byte> skipped(
        static_cast<std::size_t>(std::min<std::uint64_t>(offset - at.made, piece_bytes)));
    while (at.made < offset) ZARRPOINT_CHECK(inflate_part(at, in, skipped, offset - at.made));
    while (!into.empty()) {
      const std::uint64_t before = at.made;
      ZARRPOINT_CHECK(inflate_part(at, in, into, into.size()));
      into = into.subspan(static_cast<std::size_t>(at.made - before));
    }
    if (at.made == member_.size) return check_end(at, in);
    const std::lock_guard lock(mutex_);
    if (ends_.size() == most_ends) ends_.erase(ends_.begin());
    ends_.push_back(std::move(at));
    return {};
  }

  /// Inflates to the beginning of `into`: up to `bytes`, and no further than to the next place of a
  /// restart point, which is kept if it is a new one.
  result<void> inflate_part(zip_inflation& at, input& in, mutable_bytes into,
                            std::uint64_t bytes) const {
    const std::uint64_t to_point = point_distance() - at.made % point_distance();
    const std::uint64_t wanted = std::min({bytes, to_point, std::uint64_t{into.size()}});
    ZARRPOINT_CHECK(inflate(at, in, into.first(static_cast<std::size_t>(wanted))));
    if (at.made % point_distance() != 0) return {};
    const std::lock_guard lock(mutex_);
    if (!points_.empty() && points_.back().made >= at.made) return {};
    // Where a decoder cannot be copied, or there is no memory for it, reads start further back.
    static_cast<void>(guarded([&]() -> result<void> {
      ZARRPOINT_TRY(copied, at.decoder->copy());
      return points_.push_back({std::move(copied), at.taken, at.made, at.crc}), result<void>();
    }));
    return {};
  }

  /// The place from which the least must be inflated to come to `offset`.
  result<zip_inflation> nearest(std::uint64_t offset) const {
    const auto before = [&](const zip_inflation& at) { return at.made <= offset; };
    const auto less = [](const zip_inflation& a, const zip_inflation& b) {
      return a.made < b.made;
    };
    const std::lock_guard lock(mutex_);
    auto end = ends_.end();
    for (auto at = ends_.begin(); at != ends_.end(); ++at)
      if (before(*at) && (end == ends_.end() || less(*end, *at))) end = at;
    const auto point = std::find_if(points_.rbegin(), points_.rend(), before);
    if (end != ends_.end() && (point == points_.rend() || !less(*end, *point))) {
      zip_inflation out = std::move(*end);
      ends_.erase(end);
      return out;
    }
    if (point != points_.rend()) {
      if (auto copied = point->decoder->copy())
        return zip_inflation{*std::move(copied), point->taken, point->made, point->crc};
    }
    ZARRPOINT_TRY(decoder, archive_->inflate());
    return zip_inflation{std::move(decoder)};
  }

  /// Inflates until `into` is full. The input may be used up before the output is: a decoder still
  /// holds what came of its last bytes.
  result<void> inflate(zip_inflation& at, input& in, mutable_bytes into) const {
    while (!into.empty()) {
      ZARRPOINT_TRY(ended, step(at, in, into));
      if (ended && !into.empty()) return wrong("it inflates to less than its size");
      if (ended) break;
    }
    return {};
  }

  /// One call of the decoder; true at the end of the stream.
  result<bool> step(zip_inflation& at, input& in, mutable_bytes& into) const {
    if (in.left.empty() && at.taken < member_.stored_size) {
      const std::uint64_t left = member_.stored_size - at.taken;
      in.piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_bytes)));
      ZARRPOINT_CHECK(archive_->file().read(begin_ + at.taken, in.piece));
      in.left = in.piece;
    }
    const std::size_t had = in.left.size();
    const mutable_bytes room = into;
    ZARRPOINT_TRY(ended, at.decoder->decode(in.left, into).at("read " + name()));
    const bytes_view made = room.first(room.size() - into.size());
    if (!ended && made.empty() && in.left.size() == had)
      return wrong("its deflated data are cut short");
    at.taken += had - in.left.size();
    at.made += made.size();
    at.crc = crc32(at.crc, made);
    return ended;
  }

  /// After the last byte: the stream must end there, and the checksum be that of all.
  result<void> check_end(zip_inflation& at, input& in) const {
    const std::uint32_t crc = at.crc;
    std::byte beyond{};
    for (bool ended = false; !ended;) {
      mutable_bytes room(&beyond, 1);
      ZARRPOINT_TRY(done, step(at, in, room));
      if (room.empty()) return wrong("it inflates to more than its size");
      ended = done;
    }
    return check_crc(crc);
  }

  mutable std::mutex mutex_;
  mutable std::vector<std::byte> kept_;
  mutable std::vector<zip_inflation> points_;  ///< by rising `made`
  mutable std::vector<zip_inflation> ends_;    ///< of reads, the latest last
};

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_zip_member(
    std::shared_ptr<const detail::zip_archive> archive, const zip_member& member) {
  const auto called = [&] {
    return "member " + detail::in_quotes(member.name) + " of " + archive->file().name();
  };
  std::uint64_t begin = 0;
  if (!zip_stored_blob::can_wait(archive->file(), member)) {
    ZARRPOINT_TRY(found, zip_data_offset(archive->file(), member).at(archive->file().name()));
    begin = found;
  }
  if (member.method == 0)
    return detail::make_owned<blob, detail::zip_stored_blob>(archive, member, begin);
  if (member.method != 8)
    return error{errc::unsupported,
                 called() + " is compressed by method " + std::to_string(member.method)};
  if (archive->inflate == nullptr)
    return error{errc::unsupported,
                 called() +
                     " is deflated (include <zarrpoint/zip_inflate.hpp> and open it "
                     "with {.inflate = zip_inflate})"};
  return detail::make_owned<blob, detail::zip_deflated_blob>(std::move(archive), member, begin);
}

}  // namespace detail

// ----------------------------------------------------------------------------------- zip_store.hpp

ZARRPOINT_INLINE result<zip_store> zip_store::open(const any_store& base, const store_key& key,
                                                   const zip_store_options& how) {
  ZARRPOINT_TRY(file, base.open(key));
  if (file == nullptr)
    return error{errc::not_found, "open " + base.describe(key) + ": there is no such file"};
  return open(std::move(file), how);
}

ZARRPOINT_INLINE result<zip_store> zip_store::open(std::unique_ptr<blob> file,
                                                   const zip_store_options& how) {
  const std::string name = file->name();
  auto made = guarded([&] { return read(std::move(file), how); });
  return std::move(made).at("open " + name);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> zip_store::open(const store_key& key) const {
  const detail::zip_member* member = state_->find(key.str());
  if (member == nullptr || key.is_root()) return std::unique_ptr<blob>();
  return detail::open_zip_member(state_->archive, *member);
}

ZARRPOINT_INLINE std::string zip_store::describe(const store_key& key) const {
  const std::string file = state_->archive->file().name();
  return key.is_root() ? file : file + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> zip_store::list(const store_key& prefix) const {
  return detail::list_children(prefix, [this](std::string_view text) {
    const auto at = state_->lower_bound(text);
    return at == state_->members.end() ? nullptr : &at->name;
  });
}

ZARRPOINT_INLINE std::vector<detail::zip_member>::const_iterator zip_store::state::lower_bound(
    std::string_view name) const {
  return std::lower_bound(
      members.begin(), members.end(), name,
      [](const detail::zip_member& a, std::string_view b) { return a.name < b; });
}

ZARRPOINT_INLINE const detail::zip_member* zip_store::state::find(std::string_view name) const {
  const auto at = lower_bound(name);
  return at != members.end() && at->name == name ? &*at : nullptr;
}

ZARRPOINT_INLINE result<zip_store> zip_store::read(std::unique_ptr<blob> file,
                                                   const zip_store_options& how) {
  ZARRPOINT_TRY(members, detail::read_zip_directory(*file, how.directory_bytes));
  // What archivers put there for directories is not an object.
  std::erase_if(members, [](const detail::zip_member& member) {
    return (member.name.ends_with('/') || member.name.ends_with('\\')) && member.size == 0;
  });
  for (detail::zip_member& member : members) {
    // Sloppy writers of Windows separate folders so, which APPNOTE 4.4.17 forbids. One behind a
    // drive's letter stays, and is refused: the name is absolute.
    if (member.name.find('\\') != member.name.npos && member.name.find(':') != 1) {
      if (member.raw_name.empty()) member.raw_name = member.name;
      std::replace(member.name.begin(), member.name.end(), '\\', '/');
    }
    auto key = store_key::parse(member.name);
    if (!key) return detail::zip_corrupt("member: " + key.failure().message);
    if (key->is_root()) return detail::zip_corrupt("a member has no name");
  }
  detail::sort_by_text(members,
                       [](const detail::zip_member& one) -> std::string_view { return one.name; });
  // Of those of one name the last in the directory stays.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool again = kept != 0 && members[kept - 1].name == members[i].name;
    if (!again) ++kept;
    if (kept - 1 != i) members[kept - 1] = std::move(members[i]);
  }
  members.erase(members.begin() + static_cast<std::ptrdiff_t>(kept), members.end());
  auto archive = detail::make_counted<const detail::zip_archive>(std::move(file), how.inflate);
  return zip_store(
      detail::make_counted<const state>(state{std::move(archive), std::move(members)}));
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/store/base/bodies.hpp>
#endif
