// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/sharding.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shard_parts_test {
namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

/// Four inner chunks of 4 bytes, all stored, and what the index takes behind or before them.
struct stored_shard {
  explicit stored_shard(index_location at) {
    auto metadata = raw_metadata(dtype_kind::uint8, {8, 2}, {8, 2});
    sharding_config config;
    config.chunk_shape = {2, 2};
    config.codecs = {codec_spec{"bytes"}};
    config.location = at;
    metadata.codecs = {config.to_spec().value()};
    made = array::create(store, key_of("a"), metadata).value();
    const std::vector<std::uint8_t> data(16, 7);
    made->write(box::whole({8, 2}), view_of(data, {8, 2})).value();
    bytes = store.at("a/c/0/0");
  }

  const shard_parts& parts() const { return *made->layout().shard(); }

  result<detail::shard_index> decode(std::uint64_t object_size) const {
    codec_workspace scratch;
    const bytes_view stored =
        bytes_view(bytes).subspan(parts().index_offset(bytes.size()), parts().index_size);
    return detail::decode_index(parts(), stored, object_size, scratch);
  }

  std::string refusal(std::uint64_t object_size) const {
    const auto refused = decode(object_size);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::corrupt);
    return to_string(refused.failure());
  }

  recording_store store;
  std::optional<array> made;
  recording_store::bytes bytes;
};

}  // namespace

TEST_CASE("the index of a shard is found at both ends, and tells where inner chunks lie") {
  for (const index_location at : {index_location::end, index_location::start}) {
    const stored_shard shard(at);
    REQUIRE(shard.parts().index_size == 4 * 16 + 4);  // pairs of uint64, and their crc32c
    const bool first = at == index_location::start;
    const std::uint64_t begin = first ? 128 : 0;  // behind the index, the next multiple of 64
    REQUIRE(shard.bytes.size() == (first ? 128 + 16 : 16 + 68));
    CHECK(shard.parts().index_offset(shard.bytes.size()) == (first ? 0 : 16));
    const detail::shard_index index = shard.decode(shard.bytes.size()).value();
    REQUIRE(index.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(index[i].offset == begin + 4 * i);
      CHECK(index[i].size == 4);
    }
    CHECK_FALSE(shard.parts().is_nested());
  }
}

TEST_CASE("an index is not believed when a bit of it is another, or an entry leaves the shard") {
  const stored_shard first(index_location::start);
  const std::string cut = first.refusal(first.bytes.size() - 1);
  CAPTURE(cut);
  CHECK(cut.find("shard index: entry 3") != std::string::npos);
  stored_shard shard(index_location::end);
  for (std::size_t i = 16; i < shard.bytes.size(); ++i) {
    CAPTURE(i);
    shard.bytes[i] ^= std::byte{16};
    CHECK(shard.refusal(shard.bytes.size()).find("shard index: crc32c: checksum mismatch") !=
          std::string::npos);
    shard.bytes[i] ^= std::byte{16};
  }
  CHECK(to_string(detail::too_short_for_index(67, 68)) ==
        "corrupt: 67 bytes are too few for the shard index of 68");
}

}  // namespace shard_parts_test
