// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "zip.hpp"

#include <zlib.h>

#include <utility>

namespace cli {

namespace {

constexpr std::uint32_t full32 = 0xffffffff;

template <class T>
void put(std::string& out, T value) {
  std::byte bytes[sizeof(T)];
  zp::store_le<T>(bytes, value);
  out.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}

}  // namespace

zp::result<void> zip_writer::append(std::string_view bytes) {
  ZARRPOINT_CHECK(to_->write(at_, zp::as_bytes(bytes)));
  at_ += bytes.size();
  return {};
}

zp::result<void> zip_writer::begin(std::string_view name, std::uint64_t size) {
  if (name.size() > 0xffff - 4)
    return zp::error{zp::errc::invalid_argument, "zip: a name of more than 64 KiB"};
  zip_member member;
  member.name = name;
  member.size = member.stored_size = size;
  member.offset = at_;
  const bool wide = size >= full32;
  std::string header;
  put<std::uint32_t>(header, 0x04034b50);
  put<std::uint16_t>(header, wide ? 45 : 20);
  put<std::uint16_t>(header, 1U << 11);  // the name is UTF-8
  put<std::uint16_t>(header, 0);
  put<std::uint32_t>(header, 0x00210000);  // 1980-01-01, so that the same data give the same file
  put<std::uint32_t>(header, 0);           // the checksum: `end` puts it here
  put<std::uint32_t>(header, wide ? full32 : static_cast<std::uint32_t>(size));
  put<std::uint32_t>(header, wide ? full32 : static_cast<std::uint32_t>(size));
  put<std::uint16_t>(header, static_cast<std::uint16_t>(name.size()));
  put<std::uint16_t>(header, wide ? 20 : 0);
  header += name;
  if (wide) {
    put<std::uint16_t>(header, 1);
    put<std::uint16_t>(header, 16);
    put<std::uint64_t>(header, size);
    put<std::uint64_t>(header, size);
  }
  members_.push_back(std::move(member));
  written_ = 0;
  crc_ = 0;
  return append(header);
}

zp::result<void> zip_writer::write(zp::bytes_view bytes) {
  if (bytes.empty()) return {};
  ZARRPOINT_CHECK(to_->write(at_, bytes));
  at_ += bytes.size();
  written_ += bytes.size();
  crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return {};
}

zp::result<void> zip_writer::end() {
  zip_member& member = members_.back();
  if (written_ != member.size)
    return zp::error{zp::errc::invalid_argument, "zip: member of another size than announced"};
  member.crc32 = static_cast<std::uint32_t>(crc_);
  std::string crc;
  put<std::uint32_t>(crc, member.crc32);
  return to_->write(member.offset + 14, zp::as_bytes(crc));
}

zp::result<void> zip_writer::finish() {
  const std::uint64_t begin = at_;
  for (const zip_member& member : members_) {
    const bool wide = member.size >= full32 || member.offset >= full32;
    const auto narrow = [wide](std::uint64_t value) {
      return wide ? full32 : static_cast<std::uint32_t>(value);
    };
    std::string entry;
    put<std::uint32_t>(entry, 0x02014b50);
    put<std::uint16_t>(entry, static_cast<std::uint16_t>(0x0300 | (wide ? 45 : 20)));
    put<std::uint16_t>(entry, wide ? 45 : 20);
    put<std::uint16_t>(entry, 1U << 11);
    put<std::uint16_t>(entry, 0);
    put<std::uint32_t>(entry, 0x00210000);
    put<std::uint32_t>(entry, member.crc32);
    put<std::uint32_t>(entry, narrow(member.size));
    put<std::uint32_t>(entry, narrow(member.size));
    put<std::uint16_t>(entry, static_cast<std::uint16_t>(member.name.size()));
    put<std::uint16_t>(entry, wide ? 28 : 0);
    put<std::uint16_t>(entry, 0);
    put<std::uint32_t>(entry, 0);
    put<std::uint32_t>(entry, 0x81a40000);  // a plain file, mode 0644
    put<std::uint32_t>(entry, narrow(member.offset));
    entry += member.name;
    if (wide) {
      put<std::uint16_t>(entry, 1);
      put<std::uint16_t>(entry, 24);
      put<std::uint64_t>(entry, member.size);
      put<std::uint64_t>(entry, member.size);
      put<std::uint64_t>(entry, member.offset);
    }
    ZARRPOINT_CHECK(append(entry));
  }
  const std::uint64_t size = at_ - begin;
  const std::uint64_t count = members_.size();
  const bool wide = count >= 0xffff || begin >= full32 || size >= full32;
  std::string end;
  if (wide) {
    put<std::uint32_t>(end, 0x06064b50);
    put<std::uint64_t>(end, 44);
    put<std::uint16_t>(end, 45);
    put<std::uint16_t>(end, 45);
    put<std::uint64_t>(end, 0);  // both disk numbers
    put<std::uint64_t>(end, count);
    put<std::uint64_t>(end, count);
    put<std::uint64_t>(end, size);
    put<std::uint64_t>(end, begin);
    put<std::uint32_t>(end, 0x07064b50);
    put<std::uint32_t>(end, 0);
    put<std::uint64_t>(end, at_);
    put<std::uint32_t>(end, 1);
  }
  put<std::uint32_t>(end, 0x06054b50);
  put<std::uint32_t>(end, 0);
  put<std::uint16_t>(end, wide ? 0xffff : static_cast<std::uint16_t>(count));
  put<std::uint16_t>(end, wide ? 0xffff : static_cast<std::uint16_t>(count));
  put<std::uint32_t>(end, wide ? full32 : static_cast<std::uint32_t>(size));
  put<std::uint32_t>(end, wide ? full32 : static_cast<std::uint32_t>(begin));
  put<std::uint16_t>(end, 0);
  ZARRPOINT_CHECK(append(end));
  return to_->finish();
}

}  // namespace cli
