// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
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
    begins.push_back(offset);
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
  std::vector<std::uint64_t> begins{};
  std::function<void()> during_write{};
  std::uint64_t room = UINT64_MAX;
  int writes = 0;
  int refuses = 0;
  bool finished = false;
};

}  // namespace

namespace {

/// Whether there was room.
bool add(zip_batch& batch, std::uint64_t offset, bytes_view bytes) {
  const zip_batch::place place = batch.claim(offset, bytes.size());
  if (!place) return false;
  std::copy(bytes.begin(), bytes.end(), place.bytes().begin());
  return true;
}

}  // namespace

TEST_CASE("zip_batch: what follows is gathered; what lies elsewhere waits for a flush") {
  counting_file file;
  zip_batch batch(file);
  CHECK(add(batch, 0, as_bytes("abcd")));
  CHECK(add(batch, 4, as_bytes("e")));
  CHECK_FALSE(add(batch, 10, as_bytes("xy")));  // a gap
  CHECK(file.writes == 0);
  batch.flush().value();
  CHECK(file.writes == 1);
  CHECK(as_text(file.held) == "abcde");
  CHECK(add(batch, 10, as_bytes("xy")));
  batch.flush().value();
  batch.flush().value();
  CHECK(file.writes == 2);
  CHECK(as_text(file.held) == std::string("abcde\0\0\0\0\0xy", 12));
}

TEST_CASE("zip_batch: what is full ends at a multiple of its size, and the rest goes on waiting") {
  counting_file file;
  zip_batch batch(file);
  constexpr std::uint64_t begin = 1000;  // the first run is shorter
  const auto whole = test::random_bytes(2 * zip_batch::full_bytes);
  const bytes_view bytes = whole;
  constexpr std::size_t piece = 60'000;
  std::size_t at = 0;
  int full = 0;
  for (; at + piece <= bytes.size(); at += piece) {
    bool fills = false;
    {
      const zip_batch::place place = batch.claim(begin + at, piece);
      REQUIRE(place);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), piece, place.bytes().begin());
      fills = place.fills();
    }
    if (!fills) continue;
    ++full;
    const zip_batch::place none = batch.claim(begin + at + piece, 1);  // until it is written
    CHECK_FALSE(none);
    CHECK(none.fills());
    batch.flush_if_full().value();
    batch.flush_if_full().value();  // somebody else was told, too
    CHECK(file.writes == full);
    CHECK(file.held.size() == static_cast<std::size_t>(full) * zip_batch::full_bytes);
  }
  CHECK(full == 1);
  batch.flush().value();
  CHECK(file.writes == full + 1);
  CHECK(std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                   file.held.begin() + begin, file.held.end()));
}

TEST_CASE("zip_batch: what ends at such a place leaves nothing") {
  counting_file file;
  zip_batch batch(file);
  const std::vector<std::byte> half(zip_batch::full_bytes / 2, std::byte{7});
  CHECK(add(batch, 0, half));
  CHECK(add(batch, half.size(), half));
  batch.flush_if_full().value();
  CHECK(file.held.size() == zip_batch::full_bytes);
  CHECK(add(batch, 5, as_bytes("anywhere")));
}

TEST_CASE("zip_batch: a flush waits for those who still fill their place") {
  counting_file file;
  zip_batch batch(file);
  std::thread flusher;
  {
    const zip_batch::place place = batch.claim(0, 3);
    flusher = std::thread([&] { batch.flush().value(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const bytes_view text = as_bytes("abc");
    std::copy(text.begin(), text.end(), place.bytes().begin());
  }
  flusher.join();
  CHECK(as_text(file.held) == "abc");
}

TEST_CASE("zip_batch: only those who touch its bytes make it write") {
  counting_file file;
  zip_batch batch(file);
  CHECK(add(batch, 100, as_bytes("abcd")));
  batch.settle(0, 100).value();
  batch.settle(104, 50).value();
  CHECK(file.writes == 0);
  batch.settle(103, 1).value();
  CHECK(file.writes == 1);
}

TEST_CASE("zip_batch: what could not be written stays, and goes before what came after") {
  counting_file file;
  zip_batch batch(file);
  CHECK(add(batch, 0, as_bytes("old")));
  file.refuses = 1;
  CHECK(batch.flush().failure().message == "write file: no space");
  // The same place again: the newer bytes must win.
  CHECK(add(batch, 0, as_bytes("new")));
  batch.flush().value();
  CHECK(as_text(file.held) == "new");
}

TEST_CASE("zip_batch: what a full one could not write stays as well, and its rest") {
  counting_file file;
  zip_batch batch(file);
  const auto whole = test::random_bytes(zip_batch::full_bytes + 1000);
  CHECK(add(batch, 0, whole));
  file.refuses = 1;
  CHECK_FALSE(batch.flush_if_full());
  CHECK(add(batch, whole.size(), as_bytes("more")));
  batch.flush().value();
  REQUIRE(file.held.size() == whole.size() + 4);
  CHECK(std::equal(whole.begin(), whole.end(), file.held.begin()));
  CHECK(as_text(bytes_view(file.held).subspan(whole.size())) == "more");
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

TEST_CASE("zip_writer: small members of several threads go to the file at multiples of a size") {
  auto owned = std::make_unique<counting_file>();
  counting_file& file = *owned;
  const auto writer = zip_writer::begin(std::move(owned), "x.zip");
  const auto bytes = test::random_bytes(50'000);
  std::vector<std::thread> crew;
  for (int t = 0; t < 4; ++t) {
    crew.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i)
        writer.put(test::key(std::to_string(t) + "/" + std::to_string(i)), bytes).value();
    });
  }
  for (std::thread& one : crew) one.join();
  CHECK(file.begins.size() > 20);
  for (const std::uint64_t begin : file.begins) CHECK(begin % zip_batch::full_bytes == 0);
  writer.finish().value();
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
