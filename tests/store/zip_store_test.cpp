// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zip_store_test {

using namespace zarrpoint;

namespace {

std::string text_of(const zip_store& store, std::string_view name) {
  const auto bytes = get(store, test::key(name), 1 << 20).value();
  REQUIRE(bytes.has_value());
  return std::string(as_text(*bytes));
}

}  // namespace

TEST_CASE("zip_store: members are objects, directories are none") {
  const auto store =
      zip_store::open(
          test::blob_of(test::zip_of({{"a/", ""}, {"a/b", "hello"}, {"c", "x"}, {"e", ""}})))
          .value();
  CHECK(text_of(store, "a/b") == "hello");
  CHECK(text_of(store, "e").empty());
  CHECK(store.open(test::key("a")).value() == nullptr);
  CHECK(store.open(test::key("missing")).value() == nullptr);
  CHECK(store.open(store_key::root()).value() == nullptr);
  using entries = std::vector<list_entry>;
  CHECK(store.list(store_key::root()).value() == entries{{"a", true}, {"c", false}, {"e", false}});
  CHECK(store.list(test::key("a")).value() == entries{{"b", false}});
  const any_store any = store;
  CHECK_FALSE(any.can_write());
  CHECK(any.can_list());
  const auto object = store.open(test::key("a/b")).value();
  CHECK(object->name() == "memory:a.zip:a/b");
  CHECK(store.describe(test::key("c")) == "memory:a.zip:c");
  std::vector<std::byte> part(3);
  object->read(1, part).value();
  CHECK(as_text(part) == "ell");
  CHECK_FALSE(object->read(3, part));
  std::vector<read_request> requests{{4, mutable_bytes(part).first(1)},
                                     {0, mutable_bytes(part).subspan(1)}};
  object->read(requests).value();
  CHECK(as_text(part) == "ohe");
  requests[0].offset = 5;
  CHECK_FALSE(object->read(requests));
}

TEST_CASE("zip_store: of equal names the last one counts") {
  const auto store =
      zip_store::open(test::blob_of(test::zip_of({{"a", "1"}, {"b", "2"}, {"a", "3"}, {"a", "4"}})))
          .value();
  CHECK(text_of(store, "a") == "4");
  CHECK(store.list(store_key::root()).value().size() == 2);
}

TEST_CASE("zip_store: an archive with names that are not keys is refused") {
  for (const char* name :
       {"/a", "../a", "a/../b", "a\\..\\b", "\\a", "a//b", "a/./b", "", "C:\\a", "\xff", "a\nb"}) {
    INFO(name);
    const auto store = zip_store::open(test::blob_of(test::zip_of({{"b", "x"}, {name, "x"}})));
    REQUIRE_FALSE(store);
    CHECK(store.failure().code == errc::corrupt);
  }
}

TEST_CASE("zip_store: what is read whole is compared with its checksum") {
  std::string bytes = test::zip_of({{"a", "hello"}});
  bytes[bytes.find("hello")] = 'j';
  const auto store = zip_store::open(test::blob_of(bytes)).value();
  const auto whole = get(store, test::key("a"), 100);
  REQUIRE_FALSE(whole);
  CHECK(whole.failure().code == errc::corrupt);
  CHECK(whole.failure().message.find("crc32") != std::string::npos);
}

TEST_CASE("zip_store: what is read whole in parts, or as a range of another, is compared, too") {
  for (const std::size_t size : {std::size_t{5}, std::size_t{2} << 20}) {  // a header waits, or not
    const std::string data(size, 'h');
    std::string bytes = test::zip_of({{"a", data}});
    bytes[bytes.find("hhhh") + 1] = 'j';
    for (const bool is_damaged : {true, false}) {
      if (!is_damaged) bytes[bytes.find("hj") + 1] = 'h';
      const auto store = zip_store::open(test::blob_of(bytes)).value();
      const auto file =
          std::make_shared<const detail::container_file>(store.open(test::key("a")).value());
      const blob& member = file->file();
      const detail::range_blob range(file, 0, size, "a");
      std::vector<std::byte> into(size);
      const mutable_bytes room(into);
      const read_request whole{0, room};
      const read_request parts[] = {{0, room.first(2)}, {2, room.subspan(2)}};
      const read_request others[] = {parts[1], parts[0]};
      const auto read = [&](const blob& from, std::span<const read_request> requests) {
        const auto done = from.read(requests);
        if (!done) CHECK(done.failure().code == errc::corrupt);
        if (!done) CHECK(done.failure().message.find("crc32") != std::string::npos);
        return done.has_value();
      };
      CHECK(read(member, {&whole, 1}) == !is_damaged);
      CHECK(read(range, {&whole, 1}) == !is_damaged);
      CHECK(read(member, parts) == !is_damaged);
      CHECK(read(range, parts) == !is_damaged);
      CHECK((into == std::vector<std::byte>(size, std::byte{'h'})) == !is_damaged);
      CHECK(read(member, {parts, 1}));  // not all of it
      CHECK(read(member, others));      // in no order
    }
  }
}

TEST_CASE("zip_store: a method without a decoder is named, with the header") {
  const auto store =
      zip_store::open(test::blob_of(test::zip_of({{"a", "xx", 8, 2, 0}, {"b", "x", 12, 1, 0}})))
          .value();
  const auto deflated = store.open(test::key("a"));
  REQUIRE_FALSE(deflated);
  CHECK(deflated.failure().code == errc::unsupported);
  CHECK(deflated.failure().message.find("zarrpoint/zip_inflate.hpp") != std::string::npos);
  const auto other = store.open(test::key("b"));
  REQUIRE_FALSE(other);
  CHECK(other.failure().code == errc::unsupported);
  CHECK(other.failure().message.find("method 12") != std::string::npos);
}

TEST_CASE("zip_store: members of a file are mapped where they lie") {
  const test::temp_directory directory;
  const auto files = file_store::open(directory.path().string()).value();
  files.put(test::key("x.zip"), as_bytes(test::zip_of({{"a", "hello"}, {"b", "world"}}))).value();
  mapping kept;
  {
    const auto store = zip_store::open(files, test::key("x.zip")).value();
    kept = store.open(test::key("a")).value()->map().value();
    const mapping other = store.open(test::key("b")).value()->map().value();
    CHECK(as_text(other.bytes()) == "world");
    // One mapping for the whole file.
    CHECK(other.bytes().data() > kept.bytes().data());
    CHECK(other.bytes().data() < kept.bytes().data() + 200);
  }
  CHECK(as_text(kept.bytes()) == "hello");
  const auto missing = zip_store::open(files, test::key("y.zip"));
  REQUIRE_FALSE(missing);
  CHECK(missing.failure().code == errc::not_found);
}

TEST_CASE("zip_store: backslashes of sloppy writers are slashes") {
  const auto store =
      zip_store::open(
          test::blob_of(test::zip_of({{"a\\", ""}, {"a\\b", "hello"}, {"a/c\\d", "x"}})))
          .value();
  CHECK(text_of(store, "a/b") == "hello");
  CHECK(text_of(store, "a/c/d") == "x");
  CHECK(store.list(test::key("a")).value() == std::vector<list_entry>{{"b", false}, {"c", true}});
}

TEST_CASE("zip_store: a name in Info-ZIP's extra field counts where its checksum is right") {
  // As the `zip` program has it: the raw name in the code page of its machine.
  const std::string raw = "na\x8bve/a";  // in code page 437
  const std::string utf8 = "na\xc3\xafve/a";
  const auto archive = [&](std::uint32_t sum, char version, const std::string& name) {
    std::string bytes = test::zip_of({{raw, "hello"}});
    std::string field("\x75\x70", 2);
    detail::append_le<std::uint16_t>(field, static_cast<std::uint16_t>(5 + name.size()));
    field += version;
    detail::append_le<std::uint32_t>(field, sum);
    field += name;
    // Behind the name of the only entry of the directory, which has no extra field.
    const std::size_t entry = bytes.find("PK\1\2");
    const std::size_t end = bytes.find("PK\5\6");
    REQUIRE(end == entry + 46 + raw.size());
    test::overwrite(bytes, entry + 30, static_cast<std::uint16_t>(field.size()));
    test::overwrite(bytes, end + 12, static_cast<std::uint32_t>(end - entry + field.size()));
    bytes.insert(end, field);
    return zip_store::open(test::blob_of(bytes));
  };
  const std::uint32_t right = detail::crc32(0, as_bytes(std::string_view(raw)));
  const auto good = archive(right, 1, utf8);
  REQUIRE_MESSAGE(good, (good ? "" : to_string(good.failure())));
  CHECK(text_of(*good, utf8) == "hello");
  // A name that is not UTF-8 is not a key; the field does not count, or says what is not a key.
  CHECK_FALSE(archive(right ^ 1, 1, utf8));
  CHECK_FALSE(archive(right, 2, utf8));
  for (const char* bad : {"../a", "/a", "\xff", ""}) CHECK_FALSE(archive(right, 1, bad));
}

TEST_CASE("zip_store: a member whose local header has a wrong signature is refused") {
  std::string bytes = test::zip_of({{"a", "hello"}, {"b", ""}});
  const auto refused = [&](const char* key) {
    return get(zip_store::open(test::blob_of(bytes)).value(), test::key(key), 100);
  };
  CHECK(refused("a").value().has_value());
  bytes[2] = 7;
  REQUIRE_FALSE(refused("a"));
  CHECK(refused("a").failure().code == errc::corrupt);
  CHECK(refused("b").value().has_value());
  bytes[bytes.find("PK\3\4") + 2] = 7;
  CHECK(refused("b").failure().code == errc::corrupt);
}

TEST_CASE("zip_store: a small member is read with its header, or where that says it is") {
  const std::string packed = test::zip_of({{"a", "hello"}, {"b", "world"}});
  // The same with a gap between the two, as a data descriptor leaves one.
  const std::size_t second = packed.find("PK\3\4", 1);
  std::string gap = packed;
  gap.insert(second, 16, 'x');
  for (const std::size_t at : {gap.rfind("PK\1\2") + 42, gap.rfind("PK\5\6") + 16}) {
    const auto before = load_le<std::uint32_t>(as_bytes(gap).data() + at);
    test::overwrite<std::uint32_t>(gap, at, before + 16);
  }
  for (const std::string& bytes : {packed, gap}) {
    const zip_store store = zip_store::open(test::blob_of(bytes)).value();
    for (const auto& [key, wanted] : {std::pair{"a", "hello"}, std::pair{"b", "world"}}) {
      const auto member = store.open(test::key(key)).value();
      std::array<std::byte, 5> whole{};
      for (int again = 0; again < 2; ++again) {
        member->read(0, whole).value();
        CHECK(as_text(whole) == wanted);
        std::array<std::byte, 2> part{};
        member->read(3, part).value();
        CHECK(as_text(part) == std::string_view(wanted).substr(3));
      }
      CHECK(member->read(1, whole).failure().code == errc::out_of_range);
      const std::array<read_request, 2> both{
          {{0, mutable_bytes(whole).first(1)}, {4, mutable_bytes(whole).last(1)}}};
      store.open(test::key(key)).value()->read(both).value();
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      const auto opened = zip_store::open(test::blob_of(changed));
      if (!opened) continue;
      const auto read = get(*opened, test::key("a"), 100);
      if (read && *read) CHECK(as_text(**read) == "hello");
    }
  }
}

}  // namespace zip_store_test
