// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace zip_batch_test {

using namespace zarrpoint;
using detail::zip_batch;

namespace {

/// A file in memory that counts its writes, and refuses some.
struct counting_file final : blob_writer {
  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    ++writes;
    if (during_write) during_write();
    if (refuses > 0) {
      --refuses;
      return error{errc::io, "write file: no space"};
    }
    const auto begin = static_cast<std::size_t>(offset);
    if (held.size() < begin + bytes.size()) held.resize(begin + bytes.size());
    std::copy(bytes.begin(), bytes.end(), held.begin() + static_cast<std::ptrdiff_t>(begin));
    return {};
  }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    if (offset + into.size() > held.size()) return error{errc::out_of_range, "read file"};
    std::copy_n(held.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }
  result<void> reserve(std::uint64_t size) override {
    if (size > room) return error{errc::io, "reserve file: no space"};
    return {};
  }
  result<void> finish() override {
    finished = true;
    return {};
  }

  std::vector<std::byte> held{};
  std::function<void()> during_write{};
  std::uint64_t room = UINT64_MAX;
  int writes = 0;
  int refuses = 0;
  bool finished = false;
};

}  // namespace

TEST_CASE("zip_batch: what follows is gathered; what lies elsewhere is written before") {
  counting_file file;
  zip_batch batch(file);
  CHECK_FALSE(batch.add(0, as_bytes("ab"), as_bytes("cd")).value());
  CHECK_FALSE(batch.add(4, as_bytes("e"), {}).value());
  CHECK(file.writes == 0);
  CHECK_FALSE(batch.add(10, as_bytes("x"), as_bytes("y")).value());  // a gap
  CHECK(file.writes == 1);
  CHECK(as_text(file.held) == "abcde");
  batch.flush().value();
  batch.flush().value();
  CHECK(file.writes == 2);
  CHECK(as_text(file.held) == std::string("abcde\0\0\0\0\0xy", 12));
}

TEST_CASE("zip_batch: it says when it is full") {
  counting_file file;
  zip_batch batch(file);
  const std::vector<std::byte> half(zip_batch::full_bytes / 2);
  CHECK_FALSE(batch.add(0, {}, half).value());
  CHECK(batch.add(half.size(), {}, half).value());
}

TEST_CASE("zip_batch: only those who touch its bytes make it write") {
  counting_file file;
  zip_batch batch(file);
  batch.add(100, as_bytes("ab"), as_bytes("cd")).value();
  batch.settle(0, 100).value();
  batch.settle(104, 50).value();
  CHECK(file.writes == 0);
  batch.settle(103, 1).value();
  CHECK(file.writes == 1);
}

TEST_CASE("zip_batch: what could not be written stays, and goes before what came after") {
  counting_file file;
  zip_batch batch(file);
  batch.add(0, as_bytes("old"), {}).value();
  file.refuses = 1;
  CHECK(batch.flush().failure().message == "write file: no space");
  // The same place again: the newer bytes must win.
  batch.add(0, as_bytes("new"), {}).value();
  batch.flush().value();
  CHECK(as_text(file.held) == "new");
}

TEST_CASE("zip_writer: small members of several threads share writes, and all are right") {
  auto owned = std::make_unique<counting_file>();
  counting_file& file = *owned;
  const auto writer = zip_writer::begin(std::move(owned), "x.zip");
  constexpr int each = 500;
  const auto value = [](int i) {
    return test::random_bytes(static_cast<std::size_t>(i * 37 % 9000));
  };
  std::vector<std::thread> crew;
  for (int t = 0; t < 2; ++t) {
    crew.emplace_back([&, t] {
      for (int i = t; i < each; i += 2)
        writer.put(test::key("m/" + std::to_string(i)), value(i)).value();
    });
  }
  for (std::thread& one : crew) one.join();
  // Read before they are in the file, and replaced: the room of the old one is used again.
  for (int i = 0; i < each; i += 50)
    CHECK(test::read_object(writer, "m/" + std::to_string(i)) == value(i));
  for (int i = 0; i < each; i += 10)
    writer.put(test::key("m/" + std::to_string(i)), value(i + 1)).value();
  std::vector<std::byte> archive;
  writer.finish().value();
  CHECK(file.writes < each / 2);
  archive = file.held;
  const memory_store store;
  store.put(test::key("x.zip"), archive).value();
  const auto read = zip_store::open(store, test::key("x.zip")).value();
  for (int i = 0; i < each; ++i)  // a whole read compares the crc32
    CHECK(test::read_object(read, "m/" + std::to_string(i)) == value(i % 10 == 0 ? i + 1 : i));
}

TEST_CASE("zip_writer: a small member that does not reach the file fails the archive") {
  auto owned = std::make_unique<counting_file>();
  counting_file& file = *owned;
  const auto writer = zip_writer::begin(std::move(owned), "x.zip");
  writer.put(test::key("a"), as_bytes("hello")).value();
  file.refuses = 1;
  CHECK(writer.finish().failure().message == "write file: no space");
  CHECK_FALSE(file.finished);
  const auto late = writer.put(test::key("b"), as_bytes("x"));
  CHECK(late.failure().code == errc::invalid_argument);
  CHECK(late.failure().message.find("x.zip:b") != std::string::npos);
}

TEST_CASE("zip_writer: nothing is published while an object is put") {
  for (const std::size_t size : {std::size_t{100'000}, std::size_t{60'000}}) {
    auto owned = std::make_unique<counting_file>();
    counting_file& file = *owned;
    const zip_writer to = zip_writer::begin(std::move(owned), "x.zip");
    const std::vector<std::byte> bytes(size);
    std::vector<result<void>> early;
    file.during_write = [&] { early.push_back(to.finish()); };
    for (int i = 0; i < 5; ++i) to.put(test::key("a" + std::to_string(i)), bytes).value();
    file.during_write = {};
    REQUIRE_FALSE(early.empty());
    for (const result<void>& each : early) {
      REQUIRE_FALSE(each);
      CHECK(each.failure().message.find("is still being written") != std::string::npos);
    }
    CHECK_FALSE(file.finished);
    to.finish().value();
    CHECK(file.finished);
    const auto late = to.put(test::key("b"), bytes);
    REQUIRE_FALSE(late);
    CHECK(late.failure().message == "write x.zip:b: it is published already");
  }
}

TEST_CASE("zip_writer: a write for which there is no room may be tried again, and loses nothing") {
  auto owned = std::make_unique<counting_file>();
  counting_file& file = *owned;
  const zip_writer to = zip_writer::begin(std::move(owned), "x.zip");
  const auto writer = to.create(test::key("a")).value();
  const std::vector<std::byte> first(100'000, std::byte{1});
  const std::vector<std::byte> second(2'000'000, std::byte{2});
  writer->write(0, first).value();
  writer->reserve(first.size() + second.size()).value();
  file.room = 1'000'000;
  CHECK_FALSE(writer->write(first.size(), second));
  file.room = UINT64_MAX;
  writer->write(first.size(), second).value();
  writer->finish().value();
  std::vector<std::byte> whole(first.size() + second.size());
  to.open(test::key("a")).value()->read(0, whole).value();
  CHECK(std::count(whole.begin(), whole.end(), std::byte{1}) == 100'000);
  CHECK(std::count(whole.begin(), whole.end(), std::byte{2}) == 2'000'000);
}

}  // namespace zip_batch_test
