// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/compact.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/sharding_codec.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace compact_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

/// The shard with 100 bytes of nothing before its inner chunks.
std::vector<std::byte> with_gap(const array& of, const std::vector<std::byte>& shard) {
  const shard_parts& parts = *of.layout().shard();
  const std::size_t body = shard.size() - static_cast<std::size_t>(parts.index_size);
  codec_workspace scratch;
  detail::shard_index index =
      detail::decode_index(parts, bytes_view(shard).subspan(body), shard.size(), scratch).value();
  for (std::size_t i = 0; i < index.size(); ++i)
    if (!index[i].absent()) index.set(i, {index[i].offset + 100, index[i].size});
  const host_view words =
      dense_view(std::as_const(index).words().data(), parts.index_chain.chunk_spec());
  const bytes_view stored = parts.index_chain.encode(words, scratch).value();
  std::vector<std::byte> out(100);
  out.insert(out.end(), shard.begin(), shard.begin() + static_cast<std::ptrdiff_t>(body));
  out.insert(out.end(), stored.begin(), stored.end());
  return out;
}

TEST_CASE("shards lose their gaps and nothing else") {
  auto metadata = raw_metadata(dtype_kind::int32, {8, 6}, {4, 6});
  metadata.codecs.push_back(zstd_spec());
  memory_store store;
  const array made = array::create(store, key_of("a"), sharded_metadata(metadata, {2, 3})).value();
  auto data = counting({8, 6});
  std::fill(data.begin(), data.begin() + 12, 0);  // so that two inner chunks are absent
  made.write(box::whole({8, 6}), view_of(std::as_const(data), {8, 6})).value();
  CHECK(compact(made).value().rewritten == 0);

  const store_key key = key_of("a/c/0/0");
  const auto blob = get(store, key, SIZE_MAX).value().value();
  const std::vector<std::byte> good(bytes_view(blob).begin(), bytes_view(blob).end());
  REQUIRE(store.put(key, with_gap(made, good)));
  CHECK(elements_of(made.read(box::whole({8, 6})).value().view()) ==
        elements_of(view_of(std::as_const(data), {8, 6})));
  const compaction done = compact(made).value();
  CHECK(done.shards == 2);
  CHECK(done.rewritten == 1);
  CHECK(done.bytes_freed == 100);
  const auto after = get(store, key, SIZE_MAX).value().value();
  CHECK(std::equal(good.begin(), good.end(), bytes_view(after).begin(), bytes_view(after).end()));

  REQUIRE(store.put(key, bytes_view(good).first(10)));
  const auto failed = compact(made);
  REQUIRE_FALSE(failed);
  CHECK(to_string(failed.failure()).find("chunk c/0/0") != std::string::npos);
  auto uneven = sharded_metadata(raw_metadata(dtype_kind::int32, {6}, {4}), {2});
  uneven.edges = {axis_edges({{4, 1}, {2, 1}})};
  CHECK(compact(array::from_metadata(store, key_of("c"), uneven).value()).failure().code ==
        errc::unsupported);
  CHECK(compact(array::from_metadata(store, key_of("b"), metadata).value()).value().shards == 0);
}

}}  // namespace compact_test
