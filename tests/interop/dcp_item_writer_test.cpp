// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/dcp_save/dcp_item_writer.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace dcp_item_writer_test {

using namespace zarrpoint;
using dcp::detail::archive_layout;
using dcp::detail::item_to_write;
using dcp::detail::place_items;

constexpr index_t mib = index_t{1} << 20;

item_to_write item_of(index_t bytes) {
  return {archive_layout::of_tensor({dtype_kind::uint8, {bytes}}).value(), 0, box::whole({bytes})};
}

std::vector<item_to_write> items_of(const std::vector<index_t>& bytes) {
  std::vector<item_to_write> out;
  for (const index_t one : bytes) out.push_back(item_of(one));
  return out;
}

/// That every item is in its file, aligned and behind the one before it, and no file has more.
void check_places(const std::vector<item_to_write>& items,
                  const std::vector<std::uint64_t>& sizes) {
  std::vector<std::uint64_t> ends(sizes.size(), 0);
  for (const item_to_write& item : items) {
    REQUIRE(item.file < sizes.size());
    CHECK(item.offset % item.layout.alignment() == 0);
    CHECK(item.offset >= ends[item.file]);
    CHECK(item.offset - ends[item.file] < item.layout.alignment());
    ends[item.file] = item.offset + item.layout.size();
  }
  CHECK(ends == sizes);
}

std::vector<std::size_t> files_of(const std::vector<item_to_write>& items) {
  std::vector<std::size_t> out;
  for (const item_to_write& item : items) out.push_back(item.file);
  return out;
}

TEST_CASE("dcp_item_writer: files one after the other, each until it has its bytes") {
  constexpr std::uint64_t no_end = std::uint64_t{1} << 40;
  auto items = items_of({100, 200'000, 0, 50, 7000});
  for (const std::size_t at_once : {0U, 1U, 8U}) {  // they are too small for more than one
    check_places(items, place_items(items, no_end, at_once));
    CHECK(files_of(items) == std::vector<std::size_t>{0, 0, 0, 0, 0});
    check_places(items, place_items(items, 1, at_once));
    CHECK(files_of(items) == std::vector<std::size_t>{0, 1, 2, 3, 4});
    check_places(items, place_items(items, 100'000, at_once));
    CHECK(files_of(items) == std::vector<std::size_t>{0, 0, 1, 1, 1});
  }
  CHECK(place_items({}, 1, 8).empty());
  // However much it is, where one file at a time is asked for.
  items = items_of(std::vector<index_t>(8, 200 * mib));
  check_places(items, place_items(items, no_end, 1));
  CHECK(files_of(items) == std::vector<std::size_t>(8, 0));
}

TEST_CASE("dcp_item_writer: files that take turns have about as much, one for each 128 MiB") {
  constexpr std::uint64_t no_end = std::uint64_t{1} << 40;
  auto items = items_of({300 * mib, mib, mib, mib, 300 * mib, mib});
  check_places(items, place_items(items, no_end, 3));
  CHECK(files_of(items) == std::vector<std::size_t>{0, 1, 2, 1, 2, 1});
  const auto files_for = [](index_t bytes) {
    auto some = items_of(std::vector<index_t>(static_cast<std::size_t>(bytes / mib), mib));
    return place_items(some, no_end, 8).size();
  };
  CHECK(files_for(128 * mib) == 1);
  CHECK(files_for(256 * mib) == 2);
  CHECK(files_for(512 * mib) == 4);
  CHECK(files_for(4096 * mib) == 8);

  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<index_t> bytes(1 + random() % 100);
    for (index_t& one : bytes)
      one = static_cast<index_t>(random() % (std::uint64_t{1} << (random() % 30)));
    items = items_of(bytes);
    const std::uint64_t most = 1 + random() % (std::uint64_t{1} << (10 + random() % 25));
    const std::size_t at_once = 1 + random() % 9;
    const auto sizes = place_items(items, most, at_once);
    check_places(items, sizes);
    const auto again = files_of(items);
    CHECK(place_items(items, most, at_once) == sizes);
    CHECK(files_of(items) == again);
    // But for those that are open in the end, each has its bytes.
    CHECK(std::count_if(sizes.begin(), sizes.end(), [&](auto size) { return size < most; }) <=
          static_cast<std::ptrdiff_t>(at_once));
    if (round % 2 == 0) continue;
    const auto even = place_items(items, no_end, at_once);
    CHECK(even.size() <= at_once);
    // None is further ahead than by what was put there last.
    const auto [least, largest] = std::minmax_element(even.begin(), even.end());
    std::uint64_t slack = 0;
    for (const item_to_write& item : items)
      slack = std::max(slack, item.layout.size() + item.layout.alignment());
    CHECK(*largest - *least <= slack);
  }
}

/// A source that has the bytes of `from`.
dcp::detail::tensor_source source_of(std::string name, const tensor& from) {
  return {std::move(name),
          [&from](memory_resource&) -> result<staged> {
            return staged{from.view(), {}};
          },
          true,
          box::whole(from.shape()),
          0,
          byte_count(from.spec()).value()};
}

TEST_CASE("dcp_item_writer: by any threads, items in any files have their bytes") {
  std::mt19937_64 random(4);
  std::vector<tensor> tensors;
  std::vector<dcp::detail::tensor_source> sources;
  std::vector<item_to_write> items;
  tensors.reserve(30);
  for (std::size_t i = 0; i < 30; ++i) {
    const auto bytes = static_cast<index_t>(random() % (std::uint64_t{1} << (random() % 18)));
    tensors.push_back(tensor::make({dtype_kind::uint8, {bytes}}).value());
    for (index_t at = 0; at < bytes; ++at)
      tensors.back().mutable_view().data[at] = static_cast<std::byte>(random());
    sources.push_back(source_of("t" + std::to_string(i), tensors.back()));
    items.push_back(item_of(bytes));
    items.back().source = i;
  }
  auto sizes = place_items(items, 100'000, 1);
  REQUIRE(sizes.size() > 3);
  std::string expected;
  for (const unsigned threads : {1U, 4U}) {
    const any_store store = memory_store();
    const thread_pool pool(threads);
    context how;
    how.executor = pool.executor();
    CHECK(dcp::detail::write_items(store, {7, sources, items, 100'000, 1}, how));
    std::string all;
    for (const item_to_write& item : items) {
      CAPTURE(item.source);
      const std::string name = dcp::detail::file_name(7, item.file);
      CHECK(name == "__7_" + std::to_string(item.file) + ".distcp");
      const auto file = std::make_shared<const detail::container_file>(
          store.open(store_key::parse(name).value()).value());
      CHECK(file->file().size() == sizes[item.file]);
      const auto archive = torch::open(std::make_unique<detail::range_blob>(
                                           file, item.offset, item.layout.size(), name))
                               .value();
      tensor got = tensor::make(tensors[item.source].spec()).value();
      archive.read(archive.tensor(archive.root()).value(), got.mutable_view()).value();
      const std::size_t size = item.layout.element_bytes();
      const auto& wanted = tensors[item.source];
      CHECK((size == 0 || std::memcmp(got.view().data, wanted.view().data, size) == 0));
      all.append(reinterpret_cast<const char*>(got.view().data), size);
    }
    if (threads == 1) expected = all;
    CHECK(all == expected);
  }

  sources[20].stage = [](memory_resource&) -> result<staged> {
    return error{errc::io, "it is gone"};
  };
  const any_store store = memory_store();
  const context alone;
  const auto failed = dcp::detail::write_items(store, {0, sources, items, 100'000, 1}, alone);
  REQUIRE_FALSE(failed);
  CHECK(failed.failure().code == errc::io);
  CHECK(failed.failure().message.find("save \"t20\": it is gone") != std::string::npos);
}

}  // namespace dcp_item_writer_test
