// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip/zip_member_blob.hpp>

#include "support/store_conformance.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace zip_member_blob_test {

using namespace zarrpoint;

namespace {

/// A method of our own in the place of deflate: each byte stands for itself and 9 copies.
class tenfold final : public zip_decoder {
 public:
  result<bool> decode(bytes_view& from, mutable_bytes& to) override {
    while (!from.empty() && !to.empty()) {
      if (from[0] == std::byte{'.'}) return true;
      if (from[0] == std::byte{'!'}) return error{errc::corrupt, "damaged"};
      to[0] = from[0];
      to = to.subspan(1);
      if (++copies_ == 10) {
        copies_ = 0;
        from = from.subspan(1);
      }
    }
    return !from.empty() && from[0] == std::byte{'.'};
  }

 private:
  int copies_ = 0;
};

result<std::unique_ptr<zip_decoder>> tenfold_decoder() {
  return std::unique_ptr<zip_decoder>(std::make_unique<tenfold>());
}

std::unique_ptr<blob> open_one(const test::zip_part& part) {
  const auto archive = std::make_shared<const detail::zip_archive>(
      test::blob_of(test::zip_of({part})), tenfold_decoder);
  const auto member = detail::read_zip_directory(archive->file()).value().at(0);
  return detail::open_zip_member(archive, member).value();
}

std::string inflated(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out.append(10, static_cast<char>('a' + i % 20));
  return out;
}
std::string deflated(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += static_cast<char>('a' + i % 20);
  return out + '.';
}

}  // namespace

TEST_CASE("zip member: a compressed one is read whole and in ranges") {
  for (const std::size_t count : {0U, 1U, 7U, 1000U, 200'000U, 2'000'000U}) {
    const std::string whole = inflated(count);
    const auto object =
        open_one({"a", deflated(count), 8, whole.size(), detail::crc32(0, as_bytes(whole))});
    CHECK(object->size() == whole.size());
    std::vector<std::byte> bytes(whole.size());
    object->read(0, bytes).value();
    CHECK(as_text(bytes) == whole);
    CHECK_FALSE(object->map());
    std::vector<std::byte> beyond(whole.size() + 1);
    CHECK_FALSE(object->read(0, beyond));
    for (const std::size_t offset :
         {std::size_t{0}, whole.size() / 3, whole.size() - whole.size() / 7}) {
      std::vector<std::byte> part(std::min<std::size_t>(1234, whole.size() - offset));
      object->read(offset, part).value();
      CHECK(as_text(part) == whole.substr(offset, part.size()));
    }
  }
}

TEST_CASE("zip member: a compressed one that is not what it says is refused") {
  const std::string whole = inflated(100);
  const std::uint32_t crc = detail::crc32(0, as_bytes(whole));
  const auto refuses = [&](const test::zip_part& part, std::string_view why) {
    const auto object = open_one(part);
    std::vector<std::byte> bytes(object->size());
    const auto read = object->read(0, bytes);
    REQUIRE_FALSE(read);
    CHECK(read.failure().code == errc::corrupt);
    INFO(read.failure().message);
    CHECK(read.failure().message.find(why) != std::string::npos);
    const auto range = object->read(object->size() - 1, mutable_bytes(bytes).first(1));
    CHECK_FALSE(range);
  };
  const std::string stored = deflated(100);
  refuses({"a", stored, 8, 1000, crc ^ 1}, "crc32");
  refuses({"a", stored, 8, 999, crc}, "more than its size");
  refuses({"a", stored, 8, 1001, crc}, "less than its size");
  refuses({"a", stored.substr(0, 50), 8, 1000, crc}, "cut short");
  refuses({"a", stored.substr(0, 50) + "!" + stored.substr(50), 8, 1000, crc}, "damaged");
}

}  // namespace zip_member_blob_test
