// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip/zip_records.hpp>

#include "support/random_rounds.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace zip_directory_test {

using namespace zarrpoint;

namespace {

result<std::vector<detail::zip_member>> parse(const std::string& bytes) {
  return detail::read_zip_directory(*test::blob_of(bytes));
}

void refuses(const std::string& bytes, errc code, std::string_view why) {
  INFO(why);
  const auto members = parse(bytes);
  REQUIRE_FALSE(members);
  CHECK(members.failure().code == code);
  CHECK(members.failure().message.find(why) != std::string::npos);
}

const std::vector<test::zip_part> two{{"a/b", "hello"}, {"c", std::string(100, 'c')}};

/// Where the end record of an archive without comment is, and its directory.
std::size_t end_of(const std::string& bytes) { return bytes.size() - 22; }
std::size_t directory_of(const std::string& bytes) {
  return load_le<std::uint32_t>(as_bytes(bytes).data() + end_of(bytes) + 16);
}

}  // namespace

TEST_CASE("zip directory: members, where they are, and what stands behind them") {
  const std::string bytes = test::zip_of(two);
  const auto members = parse(bytes).value();
  REQUIRE(members.size() == 2);
  CHECK(members[0].name == "a/b");
  CHECK(members[0].size == 5);
  CHECK(members[1].header_offset == members[0].end_limit);
  CHECK(members[1].end_limit == directory_of(bytes));
  const auto archive = test::blob_of(bytes);
  CHECK(bytes.substr(detail::zip_data_offset(*archive, members[0]).value(), 5) == "hello");
  CHECK(parse(test::zip_of({})).value().empty());
}

TEST_CASE("zip directory: a comment follows the end record, and may look like one") {
  for (const std::string& comment : {std::string("hello"), std::string("PK\x05\x06"),
                                     std::string(65535, 'x'), test::zip_of(two) + "x"}) {
    CHECK(parse(test::zip_of(two, comment)).value().size() == 2);
    refuses(test::zip_of(two, comment) + "x", errc::corrupt,
            "the end of central directory record is missing");
  }
}

TEST_CASE("zip directory: every archive that was cut short is refused") {
  const std::string bytes = test::zip_of(two);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto members = parse(bytes.substr(0, size));
    REQUIRE_FALSE(members);
    CHECK(members.failure().code == errc::corrupt);
  }
}

TEST_CASE("zip directory: what an archive must not be") {
  const std::string good = test::zip_of(two);
  const std::size_t end = end_of(good), directory = directory_of(good);
  const auto with = [&](std::size_t at, auto value) {
    std::string out = good;
    test::overwrite(out, at, value);
    return out;
  };
  refuses(with(end + 4, std::uint16_t{1}), errc::unsupported, "volumes");
  refuses(with(end + 8, std::uint16_t{1}), errc::unsupported, "volumes");
  refuses(with(end + 16, std::uint32_t{0x7fffffff}), errc::corrupt, "outside the file");
  refuses(with(end + 12, std::uint32_t{0x7fffffff}), errc::corrupt, "outside the file");
  refuses(with(end + 12, std::uint32_t{0xffffffff}), errc::corrupt, "no zip64 end record");
  refuses(with(end + 16, static_cast<std::uint32_t>(directory + 1)), errc::corrupt, "");
  {
    std::string fewer = with(end + 8, std::uint16_t{1});
    test::overwrite(fewer, end + 10, std::uint16_t{1});
    refuses(fewer, errc::corrupt, "more entries than its end record states");
    std::string more = with(end + 8, std::uint16_t{3});
    test::overwrite(more, end + 10, std::uint16_t{3});
    refuses(more, errc::corrupt, "");
    test::overwrite(more, end + 8, std::uint32_t{0xfffefffe});
    refuses(more, errc::corrupt, "cut short");
  }
  refuses(with(directory, std::uint32_t{0}), errc::corrupt, "an entry of the directory is damaged");
  for (const unsigned bit : {0U, 6U, 13U})
    refuses(with(directory + 8, static_cast<std::uint16_t>(1U << bit)), errc::unsupported,
            "\"a/b\" is encrypted");
  refuses(with(directory + 8, std::uint16_t{1U << 5}), errc::unsupported, "a patch");
  refuses(with(directory + 20, std::uint32_t{4}), errc::corrupt,
          "is not compressed, but its two sizes differ");
  refuses(with(directory + 34, std::uint16_t{1}), errc::unsupported, "volumes");
  refuses(with(directory + 42, std::uint32_t{0xfffffff0}), errc::corrupt, "outside the file");
  refuses(with(directory + 42, std::uint32_t{0xffffffff}), errc::corrupt, "extra field");
  refuses(with(directory + 28, std::uint16_t{0xffff}), errc::corrupt, "cut short");
  // The second member is the first one again: a small file that would be a large archive.
  refuses(with(directory + 49 + 42, std::uint32_t{0}), errc::corrupt, "overlaps");
  refuses(test::zip_of({{"a", "xx", 8, 1'000'000, 0}}), errc::corrupt,
          "states a size that deflate cannot reach");
  const auto limited = detail::read_zip_directory(*test::blob_of(good), 10);
  REQUIRE_FALSE(limited);
  CHECK(limited.failure().code == errc::resource_limit);
}

TEST_CASE("zip directory: local headers must say the same") {
  const std::string good = test::zip_of(two);
  const auto members = parse(good).value();
  const auto opens = [&](std::size_t at, auto value) {
    std::string bytes = good;
    test::overwrite(bytes, at, value);
    return detail::zip_data_offset(*test::blob_of(bytes), members[0]);
  };
  CHECK(opens(0, std::uint32_t{0x04034b50}));
  for (const auto& [at, value] : {std::pair<std::size_t, std::uint16_t>{0, 0},
                                  {6, 1},
                                  {8, 8},
                                  {14, 0},
                                  {18, 6},
                                  {22, 6},
                                  {26, 2},
                                  {28, 0xffff},
                                  {30, 0x6262}}) {
    INFO(at);
    const auto wrong = opens(at, value);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.failure().code == errc::corrupt);
  }
  // With a data descriptor, sizes and checksum are known only to the directory.
  std::string streamed = test::zip_of({{"a", "hello", 0, UINT64_MAX, 0, 8}});
  for (const std::size_t at : {14U, 18U, 22U}) test::overwrite(streamed, at, std::uint32_t{0});
  const auto archive = test::blob_of(streamed);
  const auto offset =
      detail::zip_data_offset(*archive, detail::read_zip_directory(*archive).value()[0]).value();
  CHECK(streamed.substr(offset, 5) == "hello");
}

TEST_CASE("zip directory: zip64") {
  // Sizes of 64 bits, all records in their zip64 form though nothing needs it.
  const std::string data = "hello";
  std::string bytes, directory;
  detail::zip_member member = test::member_of({"a", data});
  detail::append_le<std::uint32_t>(bytes, 0x04034b50);
  detail::append_le<std::uint16_t>(bytes, 45);
  detail::append_le<std::uint16_t>(bytes, member.flags);
  detail::append_le<std::uint16_t>(bytes, member.method);
  detail::append_le<std::uint32_t>(bytes, 0x00210000);  // a date
  detail::append_le<std::uint32_t>(bytes, member.crc32);
  detail::append_le<std::uint64_t>(bytes, UINT64_MAX);
  detail::append_le<std::uint16_t>(bytes, 1);
  detail::append_le<std::uint16_t>(bytes, 20);
  bytes += "a";
  detail::append_le<std::uint32_t>(bytes, 0x00100001);
  detail::append_le<std::uint64_t>(bytes, 5);
  detail::append_le<std::uint64_t>(bytes, 5);
  bytes += data;
  detail::append_zip_entry(directory, member);
  for (const std::size_t at : {20U, 24U, 42U}) test::overwrite(directory, at, 0xffffffffU);
  test::overwrite(directory, 30, std::uint16_t{28});
  detail::append_le<std::uint32_t>(directory, 0x00180001);
  detail::append_le<std::uint64_t>(directory, 5);
  detail::append_le<std::uint64_t>(directory, 5);
  detail::append_le<std::uint64_t>(directory, 0);
  const std::uint64_t offset = bytes.size();
  bytes += directory;
  std::string end;
  detail::append_zip_end(end, {0xffff, directory.size(), offset});
  for (const std::size_t at : {24U, 32U}) test::overwrite(end, at, std::uint64_t{1});
  bytes += end;
  const auto archive = test::blob_of(bytes);
  const auto members = detail::read_zip_directory(*archive).value();
  REQUIRE(members.size() == 1);
  CHECK(members[0].size == 5);
  CHECK(bytes.substr(detail::zip_data_offset(*archive, members[0]).value(), 5) == "hello");

  const std::size_t end64 = bytes.size() - 98;
  const auto with = [&](std::size_t at, auto value) {
    std::string out = bytes;
    test::overwrite(out, at, value);
    return out;
  };
  refuses(with(end64, std::uint32_t{0}), errc::corrupt, "no zip64 end record");
  refuses(with(end64 + 16, std::uint32_t{1}), errc::unsupported, "volumes");
  refuses(with(end64 + 24, std::uint64_t{9}), errc::unsupported, "volumes");
  refuses(with(end64 + 40, std::uint64_t{1}), errc::corrupt, "contradict");
  refuses(with(end64 + 48, std::uint64_t{1}), errc::corrupt, "contradict");
  refuses(with(end64 + 56 + 8, UINT64_MAX - 3), errc::corrupt, "no zip64 end record");
  refuses(with(end64 + 56 + 4, std::uint32_t{1}), errc::unsupported, "volumes");
  {
    std::string out = with(end64 + 98 - 22 + 16, 0xffffffffU);
    test::overwrite(out, end64 + 48, UINT64_MAX - 10);
    refuses(out, errc::corrupt, "outside the file");
  }
  refuses(with(static_cast<std::size_t>(offset) + 47 + 2, std::uint16_t{8}), errc::corrupt,
          "extra field is cut short");
}

TEST_CASE("zip directory: flipped bits never lead outside the file") {
  const std::string good = test::zip_of(two, "comment");
  std::mt19937 random(3);
  for (int round = 0; round < zarrpoint_test::random_rounds(20'000); ++round) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const auto archive = test::blob_of(bytes);
    const auto members = detail::read_zip_directory(*archive);
    if (!members) continue;
    for (const detail::zip_member& member : *members) {
      const auto begin = detail::zip_data_offset(*archive, member);
      if (!begin) continue;
      REQUIRE(*begin <= archive->size());
      REQUIRE(member.stored_size <= archive->size() - *begin);
    }
  }
}

}  // namespace zip_directory_test
