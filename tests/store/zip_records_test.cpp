// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip/zip_records.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>

namespace zip_records_test {

using namespace zarrpoint;

TEST_CASE("zip_cursor: zeros past the end, and it says so") {
  const std::string bytes("\x01\x02\x03\x04\x05", 5);
  detail::zip_cursor cursor(as_bytes(bytes));
  CHECK(cursor.take<std::uint32_t>() == 0x04030201);
  CHECK(cursor.left() == 1);
  CHECK(cursor.take<std::uint16_t>() == 0);
  CHECK_FALSE(cursor.ok());
  CHECK(cursor.left() == 0);
}

TEST_CASE("zip_local_header: as long as it is told, the rest being padding") {
  detail::zip_member member{.name = "a/b", .stored_size = 5, .size = 5};
  for (const std::size_t total : {59U, 60U, 64U, 4096U}) {
    const std::string header = detail::zip_local_header(member, total);
    CHECK(header.size() == total);
    detail::zip_cursor cursor(as_bytes(header));
    CHECK(cursor.take<std::uint32_t>() == 0x04034b50);
    CHECK(cursor.take<std::uint16_t>() == 20);
    cursor.bytes(12);
    CHECK(cursor.take<std::uint32_t>() == 5);
    cursor.bytes(4);
    CHECK(cursor.take<std::uint16_t>() == 3);
    CHECK(cursor.take<std::uint16_t>() == total - 33);
    CHECK(as_text(cursor.bytes(3)) == "a/b");
    CHECK(cursor.take<std::uint16_t>() == 0xd935);
    const auto padding = cursor.take<std::uint16_t>();
    CHECK(padding == cursor.left());
  }
}

TEST_CASE("zip64: the fields appear where 32 bits do not do, and nowhere else") {
  detail::zip_member member{.name = "a", .stored_size = 5, .size = 5};
  std::string entry;
  detail::append_zip_entry(entry, member);
  CHECK(entry.size() == 47);
  for (const std::uint64_t offset : {0xfffffffeULL, 0xffffffffULL, 1ULL << 40}) {
    entry.clear();
    member.header_offset = offset;
    detail::append_zip_entry(entry, member);
    CHECK(entry.size() == (offset < 0xffffffff ? 47 : 47 + 12));
  }
  member.size = member.stored_size = 0xffffffff;
  entry.clear();
  detail::append_zip_entry(entry, member);
  CHECK(entry.size() == 47 + 28);
  const std::string header = detail::zip_local_header(member, 64);
  CHECK(header.size() == 64);
  CHECK(static_cast<unsigned char>(header[4]) == 45);

  for (const auto& [entries, offset, size] :
       {std::tuple{65534ULL, 0ULL, 22U}, std::tuple{65535ULL, 0ULL, 98U},
        std::tuple{1ULL, 1ULL << 32, 98U}}) {
    std::string end;
    detail::append_zip_end(end, {entries, 100, offset});
    CHECK(end.size() == size);
  }
}

}  // namespace zip_records_test
