// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_member_writer.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

namespace zip_member_writer_test {

using namespace zarrpoint;

namespace {

struct fixture {
  memory_store store;
  std::shared_ptr<detail::zip_builder> archive =
      std::make_shared<detail::zip_builder>(store.create(test::key("z")).value(), "z");

  std::unique_ptr<detail::zip_member_writer> writer(std::string_view name) {
    return std::make_unique<detail::zip_member_writer>(archive, test::key(name));
  }
  /// All members, whose checksums are verified.
  std::vector<std::byte> finished(std::string_view name) {
    if (!done_) archive->finish().value();
    done_ = true;
    return test::read_object(zip_store::open(store, test::key("z")).value(), name);
  }

 private:
  bool done_ = false;
};

}  // namespace

TEST_CASE("zip_member_writer: large ones outgrow their place while others stand behind it") {
  fixture made;
  const auto data = test::random_bytes(9 << 20);
  const bytes_view all(data);
  auto one = made.writer("one"), other = made.writer("other");
  for (std::size_t at = 0; at < data.size(); at += 300'000) {
    const std::size_t size = std::min<std::size_t>(300'000, data.size() - at);
    one->write(at, all.subspan(at, size)).value();
    other->write(at, all.subspan(at, size)).value();
  }
  std::vector<std::byte> back(1000);
  one->read(123'456, back).value();
  CHECK(std::equal(back.begin(), back.end(), data.begin() + 123'456));
  CHECK_FALSE(one->read(data.size() - 1, back));
  one->finish().value();
  CHECK_FALSE(one->finish());
  CHECK_FALSE(one->write(0, back));
  other->finish().value();
  one.reset(), other.reset();
  CHECK(made.finished("one") == data);
  CHECK(made.finished("other") == data);
}

TEST_CASE("zip_member_writer: what was reserved is where it stays, aligned to a page") {
  fixture made;
  const auto data = test::random_bytes(3 << 20);
  auto small = made.writer("small");
  small->write(0, bytes_view(data).first(10)).value();
  small->finish().value();
  small.reset();
  auto writer = made.writer("large");
  writer->reserve(data.size()).value();
  std::vector<std::thread> crew;
  for (std::size_t t = 0; t < 4; ++t) {
    crew.emplace_back([&, t] {
      for (std::size_t at = t << 16; at < data.size(); at += std::size_t{4} << 16)
        static_cast<void>(writer->write(at, bytes_view(data).subspan(at, std::size_t{1} << 16)));
    });
  }
  for (std::thread& one : crew) one.join();
  writer->finish().value();
  writer.reset();
  CHECK(made.archive->find("large")->extent.data % 4096 == 0);
  CHECK(made.archive->find("large")->extent.capacity() == data.size());
  CHECK(made.archive->find("small")->extent.data % 64 == 0);
  CHECK(made.finished("large") == data);
}

TEST_CASE(
    "zip_member_writer: holes are zero though something else was there, overlaps count once") {
  fixture made;
  const auto data = test::random_bytes(3 << 20);
  {
    auto before = made.writer("before");
    before->reserve(data.size()).value();
    before->write(0, data).value();
    before->finish().value();
    made.archive->erase(test::key("before"));
  }
  auto holes = made.writer("holes");
  holes->reserve(2 << 20).value();
  holes->write(5000, bytes_view(data).first(1000)).value();
  holes->write(2'000'000, bytes_view(data).first(1000)).value();
  holes->finish().value();
  auto twice = made.writer("twice");
  twice->reserve(2 << 20).value();
  twice->write(0, bytes_view(data).first(2 << 20)).value();
  twice->write(1000, bytes_view(data).first(2000)).value();
  twice->finish().value();
  holes.reset(), twice.reset();
  std::vector<std::byte> expected(2'001'000);
  std::copy_n(data.begin(), 1000, expected.begin() + 5000);
  std::copy_n(data.begin(), 1000, expected.begin() + 2'000'000);
  CHECK(made.finished("holes") == expected);
  expected.assign(data.begin(), data.begin() + (2 << 20));
  std::copy_n(data.begin(), 2000, expected.begin() + 1000);
  CHECK(made.finished("twice") == expected);
}

TEST_CASE("zip_member_writer: holes are zero though others wrote there and a byte came twice") {
  fixture made;
  const std::size_t size = 4 << 20;
  {
    const std::vector<std::byte> foreign(size, std::byte{0x55});
    auto before = made.writer("before");
    before->reserve(size).value();
    before->write(0, foreign).value();
    before->finish().value();
    CHECK(made.archive->erase(test::key("before")));
  }
  const auto piece = test::random_bytes(100);
  auto writer = made.writer("a");
  writer->reserve(size).value();
  writer->write(0, piece).value();
  writer->write(0, piece).value();
  writer->write(size - piece.size(), piece).value();
  writer->finish().value();
  writer.reset();
  std::vector<std::byte> expected(size);
  std::copy(piece.begin(), piece.end(), expected.begin());
  std::copy(piece.begin(), piece.end(), expected.end() - 100);
  CHECK((made.finished("a") == expected));
}

TEST_CASE("zip_member_writer: threads write without a reservation while the place moves") {
  fixture made;
  const auto data = test::random_bytes(6 << 20);
  std::vector<std::unique_ptr<detail::zip_member_writer>> writers;
  // Two that grow in turns: neither is the last, so that each has to move.
  for (const char* name : {"a", "b"}) writers.push_back(made.writer(name));
  std::atomic<int> failed{0};
  std::vector<std::thread> crew;
  for (std::size_t t = 0; t < 8; ++t) {
    crew.emplace_back([&, t] {
      const std::size_t size = 32 << 10;
      for (std::size_t at = (t / 2) * size; at < data.size(); at += 4 * size)
        if (!writers[t % 2]->write(at, bytes_view(data).subspan(at, size))) ++failed;
    });
  }
  for (std::thread& one : crew) one.join();
  CHECK(failed == 0);
  for (auto& writer : writers) writer->finish().value();
  writers.clear();
  CHECK((made.finished("a") == data));
  CHECK((made.finished("b") == data));
}

TEST_CASE("zip_member_writer: offsets beyond all files are refused") {
  fixture made;
  const auto writer = made.writer("a");
  const auto wrong = writer->write(UINT64_MAX - 3, test::random_bytes(10));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.failure().code == errc::out_of_range);
}

}  // namespace zip_member_writer_test
