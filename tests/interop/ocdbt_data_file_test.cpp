// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/recording_store.hpp"
#include "support/store_texts.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>

namespace ocdbt_data_file_test {

using namespace zarrpoint;
using test::key;
using zarrpoint_test::recording_store;

std::string text_of(const detail::ocdbt_data_file& file, std::uint64_t offset, std::size_t size) {
  std::string out(size, '?');
  file.read(offset, std::as_writable_bytes(std::span(out))).value();
  return out;
}

TEST_CASE("ocdbt_data_files: each has one user at a time, and is used again until it is full") {
  const recording_store base;
  detail::ocdbt_data_files files(base, key("db"), 10);
  const auto one = files.take().value();
  const auto other = files.take().value();
  CHECK(one->id().name != other->id().name);
  CHECK(one->id().name.starts_with("d/"));
  CHECK(one->id().base.empty());
  CHECK(one->key() == key("db/" + one->id().name));
  one->write(0, as_bytes("abcd")).value();
  one->end = 4;
  files.give_back(one).value();
  files.give_back(other).value();  // nothing is in it: it will not be
  const auto again = files.take().value();
  CHECK(again == one);
  again->write(4, as_bytes("efghijk")).value();
  again->end = 11;
  CHECK(base.keys().empty());
  files.give_back(again).value();  // full
  CHECK(base.keys().size() == 1);
  CHECK(text_of(*one, 2, 6) == "cdefgh");  // read from the base now
  CHECK(files.append(as_bytes("xyz")).value().offset == 0);
  const auto second = files.append(as_bytes("uvw")).value();
  CHECK(second.offset == 3);
  CHECK(second.file != one);
  CHECK(second.file->end == 6);
  files.finish().value();
  CHECK(base.keys().size() == 2);
  CHECK(text_of(*second.file, 0, 6) == "xyzuvw");
  files.keep();
}

TEST_CASE("ocdbt_data_files: what nothing refers to is erased") {
  const recording_store base;
  for (const bool is_kept : {false, true}) {
    detail::ocdbt_data_files files(base, key("db"), 0);
    files.append(as_bytes("abc")).value();
    files.finish().value();
    CHECK(base.keys().size() == 1);
    if (is_kept) files.keep();
    files.append(as_bytes("def")).value();  // and one that is never finished
  }
  CHECK(base.keys().size() == 1);
}

TEST_CASE("ocdbt_data_file: one that is missing is told by its path") {
  const memory_store base;
  const detail::ocdbt_data_file file(base, key("db/p/d/0"), {"p/", "d/0"});
  std::array<std::byte, 1> into{};
  const auto read = file.read(0, into);
  REQUIRE_FALSE(read);
  CHECK(read.failure().code == errc::corrupt);
  CHECK(read.failure().message.find("\"p/d/0\"") != std::string::npos);
  // It may come later.
  base.put(key("db/p/d/0"), as_bytes("z")).value();
  CHECK(text_of(file, 0, 1) == "z");
}

}  // namespace ocdbt_data_file_test
