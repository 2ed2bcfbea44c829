// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "zip.hpp"

#include <zarrpoint/core/printable.hpp>

#include <zlib.h>

#include <algorithm>

namespace cli {

namespace {

constexpr std::uint32_t local_mark = 0x04034b50;
constexpr std::uint32_t entry_mark = 0x02014b50;
constexpr std::uint32_t end_mark = 0x06054b50;
constexpr std::uint32_t end64_mark = 0x06064b50;
constexpr std::uint32_t locator_mark = 0x07064b50;
constexpr std::uint32_t full32 = 0xffffffff;
constexpr std::uint64_t directory_limit = std::uint64_t{1} << 30;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

zp::error broken(std::string what) { return {zp::errc::corrupt, "zip: " + std::move(what)}; }

/// Little-endian numbers one after another; zeros past the end, which `ok` tells.
class cursor {
 public:
  explicit cursor(zp::bytes_view bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    if (bytes_.size() < sizeof(T)) {
      ok_ = false;
      return 0;
    }
    const T value = zp::load_le<T>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  zp::bytes_view bytes(std::size_t count) {
    if (bytes_.size() < count) {
      ok_ = false;
      count = bytes_.size();
    }
    const zp::bytes_view out = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return out;
  }
  bool ok() const { return ok_; }
  std::size_t left() const { return bytes_.size(); }

 private:
  zp::bytes_view bytes_;
  bool ok_ = true;
};

struct directory_place {
  std::uint64_t entries = 0, size = 0, offset = 0;
};

zp::result<std::vector<std::byte>> read_range(const zp::blob& from, std::uint64_t offset,
                                              std::uint64_t size) {
  if (offset > from.size() || size > from.size() - offset) return broken("it is cut short");
  std::vector<std::byte> out(static_cast<std::size_t>(size));
  ZARRPOINT_CHECK(from.read(offset, out));
  return out;
}

/// The end record says where the directory is; that of zip64 does where its fields are full.
zp::result<directory_place> find_directory(const zp::blob& archive) {
  constexpr std::uint64_t end_size = 22;
  if (archive.size() < end_size) return broken("too small for an archive");
  const std::uint64_t tail_size = std::min<std::uint64_t>(archive.size(), end_size + 0xffff);
  const std::uint64_t tail_offset = archive.size() - tail_size;
  ZARRPOINT_TRY(tail, read_range(archive, tail_offset, tail_size));
  std::size_t at = tail.size() - end_size + 1;
  while (at-- > 0) {
    if (zp::load_le<std::uint32_t>(tail.data() + at) != end_mark) continue;
    cursor end(zp::bytes_view(tail).subspan(at + 4));
    const auto disk = end.take<std::uint16_t>();
    const auto directory_disk = end.take<std::uint16_t>();
    end.take<std::uint16_t>();
    directory_place out;
    out.entries = end.take<std::uint16_t>();
    out.size = end.take<std::uint32_t>();
    out.offset = end.take<std::uint32_t>();
    if (end.take<std::uint16_t>() != end.left()) continue;  // the mark by chance, in a comment
    if (disk != directory_disk || (disk != 0 && disk != 0xffff))
      return zp::error{zp::errc::unsupported, "zip: archives of several volumes"};
    const std::uint64_t end_offset = tail_offset + at;
    if (out.entries != 0xffff && out.size != full32 && out.offset != full32) return out;
    if (end_offset < 20) return out;
    ZARRPOINT_TRY(bytes, read_range(archive, end_offset - 20, 20));
    cursor locator(bytes);
    if (locator.take<std::uint32_t>() != locator_mark) return out;
    locator.take<std::uint32_t>();
    ZARRPOINT_TRY(record, read_range(archive, locator.take<std::uint64_t>(), 56));
    cursor end64(record);
    if (end64.take<std::uint32_t>() != end64_mark) return broken("no zip64 end record");
    end64.bytes(28);
    out.entries = end64.take<std::uint64_t>();
    out.size = end64.take<std::uint64_t>();
    out.offset = end64.take<std::uint64_t>();
    return out;
  }
  return broken("no end of central directory record: cut short, or no archive");
}

/// Replaces what is full in 32 bits by the values of the zip64 extra field.
void widen(zip_member& member, cursor extra) {
  while (extra.left() >= 4) {
    const auto id = extra.take<std::uint16_t>();
    cursor field(extra.bytes(extra.take<std::uint16_t>()));
    if (id != 1) continue;
    for (std::uint64_t* value : {&member.size, &member.stored_size, &member.offset}) {
      if (*value == full32 && field.left() >= 8) *value = field.take<std::uint64_t>();
    }
  }
}

zp::result<zip_member> read_entry(cursor& directory, std::uint64_t archive_size) {
  if (directory.take<std::uint32_t>() != entry_mark) return broken("a directory entry is no entry");
  directory.bytes(4);
  const auto flags = directory.take<std::uint16_t>();
  const auto method = directory.take<std::uint16_t>();
  directory.bytes(4);
  zip_member out;
  out.crc32 = directory.take<std::uint32_t>();
  out.stored_size = directory.take<std::uint32_t>();
  out.size = directory.take<std::uint32_t>();
  const auto name_size = directory.take<std::uint16_t>();
  const auto extra_size = directory.take<std::uint16_t>();
  const auto comment_size = directory.take<std::uint16_t>();
  directory.bytes(8);
  out.offset = directory.take<std::uint32_t>();
  const zp::bytes_view name = directory.bytes(name_size);
  out.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  widen(out, cursor(directory.bytes(extra_size)));
  directory.bytes(comment_size);
  if (!directory.ok()) return broken("the directory is cut short");
  const std::string called = "member " + zp::detail::in_quotes(out.name);
  if ((flags & 1U) != 0)
    return zp::error{zp::errc::unsupported, "zip: " + called + " is encrypted"};
  if (method != 0 && method != 8)
    return zp::error{zp::errc::unsupported,
                     "zip: " + called + " uses method " + std::to_string(method)};
  out.deflated = method == 8;
  if (!out.deflated && out.size != out.stored_size)
    return broken(called + " is stored with another size");
  if (out.offset > archive_size || out.stored_size > archive_size - out.offset)
    return broken(called + " lies beyond the end of the file");
  return out;
}

}  // namespace

zp::result<std::vector<zip_member>> read_zip_directory(const zp::blob& archive) {
  ZARRPOINT_TRY(place, find_directory(archive));
  if (place.size > directory_limit)
    return zp::error{zp::errc::resource_limit, "zip: a directory of more than 1 GiB"};
  ZARRPOINT_TRY(bytes, read_range(archive, place.offset, place.size));
  cursor directory(bytes);
  std::vector<zip_member> out;
  for (std::uint64_t i = 0; i < place.entries; ++i) {
    ZARRPOINT_TRY(member, read_entry(directory, archive.size()));
    out.push_back(std::move(member));
  }
  return out;
}

zp::result<std::uint64_t> zip_data_offset(const zp::blob& archive, const zip_member& member) {
  const std::string called = "member " + zp::detail::in_quotes(member.name);
  ZARRPOINT_TRY(bytes, read_range(archive, member.offset, 30));
  cursor header(bytes);
  if (header.take<std::uint32_t>() != local_mark) return broken(called + " has no local header");
  header.bytes(22);
  const auto name_size = header.take<std::uint16_t>();
  const auto extra_size = header.take<std::uint16_t>();
  const std::uint64_t begin = member.offset + 30 + name_size + extra_size;
  if (begin > archive.size() || member.stored_size > archive.size() - begin)
    return broken(called + " lies beyond the end of the file");
  return begin;
}

namespace {

zp::result<void> compare(unsigned long crc, const zip_member& member) {
  if (crc == member.crc32) return {};
  return broken("member " + zp::detail::in_quotes(member.name) +
                ": its bytes are not those of its crc32");
}

unsigned long crc_of(unsigned long crc, zp::bytes_view bytes) {
  return crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

/// Inflates piece by piece what lies at `begin`; of a `head` only as much as there is room for.
class inflater {
 public:
  inflater() : ready_(inflateInit2(&stream_, -MAX_WBITS) == Z_OK) {}
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;
  ~inflater() {
    if (ready_) inflateEnd(&stream_);
  }

  zp::result<void> run(const zp::blob& from, const zip_member& member, zp::mutable_bytes to,
                       bool head = false) {
    if (!ready_) return zp::error{zp::errc::resource_limit, "zip: zlib has no memory"};
    const auto wrong = [&](const char* what) {
      return broken("member " + zp::detail::in_quotes(member.name) + ": " + what);
    };
    ZARRPOINT_TRY(begin, zip_data_offset(from, member));
    std::vector<std::byte> piece(piece_bytes);
    std::uint64_t left = member.stored_size;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
      if (head && to.empty()) return {};
      if (stream_.avail_in == 0) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()));
        if (size == 0) return wrong("its deflated data are cut short");
        ZARRPOINT_CHECK(from.read(begin, zp::mutable_bytes(piece).first(size)));
        begin += size;
        left -= size;
        stream_.next_in = reinterpret_cast<Bytef*>(piece.data());
        stream_.avail_in = static_cast<uInt>(size);
      }
      const std::size_t room = std::min<std::size_t>(to.size(), 1U << 30);
      std::byte overflow{};  // tells data beyond the size from the end of the stream
      stream_.next_out = reinterpret_cast<Bytef*>(room != 0 ? to.data() : &overflow);
      stream_.avail_out = room != 0 ? static_cast<uInt>(room) : 1U;
      const uInt before = stream_.avail_out;
      status = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t made = before - stream_.avail_out;
      if (room == 0 && made != 0) return wrong("it inflates to more than its size");
      to = to.subspan(made);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return wrong("its deflated data are damaged");
    }
    if (!to.empty()) return wrong("it inflates to less than its size");
    return {};
  }

 private:
  z_stream stream_{};
  bool ready_;
};

/// Deflate makes at most 1032 bytes of one: more is not believed, so that no memory is taken.
zp::result<void> check_size(const zip_member& member) {
  if (!member.deflated || member.size / 1032 <= member.stored_size + 1) return {};
  return broken("member " + zp::detail::in_quotes(member.name) +
                " says a size that it cannot have");
}

}  // namespace

zp::result<void> check_zip_member(const zp::blob& archive, const zip_member& member) {
  ZARRPOINT_TRY(begin, zip_data_offset(archive, member));
  std::vector<std::byte> piece(
      static_cast<std::size_t>(std::min<std::uint64_t>(member.size, piece_bytes)));
  unsigned long crc = 0;
  for (std::uint64_t done = 0; done < member.size;) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(member.size - done, piece.size()));
    const zp::mutable_bytes part = zp::mutable_bytes(piece).first(size);
    ZARRPOINT_CHECK(archive.read(begin + done, part));
    crc = crc_of(crc, part);
    done += size;
  }
  return compare(crc, member);
}

zp::result<zp::buffer> read_zip_member(const zp::blob& archive, const zip_member& member) {
  ZARRPOINT_CHECK(check_size(member));
  ZARRPOINT_TRY(out, zp::buffer::allocate(static_cast<std::size_t>(member.size)));
  if (member.deflated) {
    ZARRPOINT_CHECK(inflater().run(archive, member, out.bytes()));
  } else {
    ZARRPOINT_TRY(begin, zip_data_offset(archive, member));
    ZARRPOINT_CHECK(archive.read(begin, out.bytes()));
  }
  ZARRPOINT_CHECK(compare(crc_of(0, out.bytes()), member));
  return std::move(out);
}

zp::result<std::vector<std::byte>> read_zip_head(const zp::blob& archive, const zip_member& member,
                                                 std::size_t size) {
  ZARRPOINT_CHECK(check_size(member));
  std::vector<std::byte> out(static_cast<std::size_t>(std::min<std::uint64_t>(member.size, size)));
  if (member.deflated) {
    ZARRPOINT_CHECK(inflater().run(archive, member, out, true));
  } else {
    ZARRPOINT_TRY(begin, zip_data_offset(archive, member));
    ZARRPOINT_CHECK(archive.read(begin, out));
  }
  return out;
}

}  // namespace cli
