// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/blob.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace blob_test {

using namespace zarrpoint;

namespace {

/// Bytes that count up, with the least that a blob must have.
struct counting_blob final : blob {
  using blob::read;
  std::uint64_t size() const noexcept override { return 200; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    for (std::byte& one : into) one = static_cast<std::byte>(offset++);
    return {};
  }
  std::string name() const override { return "counting"; }
};

struct null_writer final : blob_writer {
  std::uint64_t end = 0;
  result<void> write(std::uint64_t offset, bytes_view bytes) override {
    end = offset + bytes.size();
    return {};
  }
  result<void> finish() override { return {}; }
};

}  // namespace

TEST_CASE("blob: a vectored read is as many reads, up to the first error") {
  const counting_blob object;
  std::array<std::byte, 3> a{};
  std::array<std::byte, 2> b{};
  const std::vector<read_request> requests = {{10, a}, {198, b}, {200, {}}};
  CHECK(object.read(requests));
  CHECK(a[2] == std::byte{12});
  CHECK(b[1] == std::byte{199});
  CHECK(object.read(std::vector<read_request>{}));
  const auto refused = object.read(std::vector<read_request>{{0, a}, {199, b}});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::out_of_range);
  CHECK(refused.failure().message == "read counting: 2 bytes at 199 reach beyond its size of 200");
}

TEST_CASE("blob: ranges are checked without overflow") {
  const counting_blob object;
  std::array<std::byte, 1> one{};
  CHECK(object.read(200, {}));
  CHECK_FALSE(object.read(200, one));
  CHECK_FALSE(object.read(201, {}));
  CHECK_FALSE(object.read(UINT64_MAX, one));
  CHECK_FALSE(object.read(UINT64_MAX, {}));
}

TEST_CASE("blob: mapping is offered by those that can") {
  const auto refused = counting_blob().map();
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::unsupported);
  CHECK(refused.failure().message.find("counting") != std::string::npos);
}

TEST_CASE("mapping: keeps its memory alive for as long as a copy lives") {
  bool gone = false;
  mapping last;
  CHECK(last.bytes().empty());
  {
    const std::shared_ptr<std::vector<std::byte>> memory(
        new std::vector<std::byte>(3, std::byte{7}), [&gone](std::vector<std::byte>* p) {
          gone = true;
          delete p;
        });
    const mapping first(*memory, memory);
    last = first;
  }
  CHECK_FALSE(gone);
  CHECK(last.bytes()[2] == std::byte{7});
  last = mapping();
  CHECK(gone);
}

TEST_CASE("blob: a store that says nothing of versions knows none") {
  CHECK_FALSE(counting_blob().version());
  CHECK(blob_version{{1, 2}} == blob_version{{1, 2, 0}});
  CHECK(blob_version{{1, 2}} != blob_version{{1, 3}});
}

TEST_CASE("blob_writer: reserving is only a hint") {
  null_writer writer;
  CHECK(writer.reserve(UINT64_MAX));
}

TEST_CASE("blob_writer: what is written once, or stays, is just written by default") {
  null_writer writer;
  const std::array<std::byte, 3> bytes{};
  CHECK(writer.write_once(4, 1, bytes));
  CHECK(writer.end == 7);
  CHECK(writer.write_kept(9, 2, bytes));
  CHECK(writer.end == 12);
}

}  // namespace blob_test
