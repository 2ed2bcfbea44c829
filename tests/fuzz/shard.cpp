// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A shard of any bytes: its index, at either end, and what it points to.

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/sharding.hpp>

#include "fuzz.hpp"

#include <cstring>
#include <vector>

namespace {

using namespace fuzz;

zp::array_metadata metadata_of(std::uint8_t flags, zp::index_t inner) {
  zp::array_metadata out;
  out.type = zp::dtype_kind::uint16;
  out.shape = {inner * 4};
  out.chunk_shape = out.shape;
  out.fill = zp::fill_value::zero(out.type);
  zp::sharding_config config;
  config.chunk_shape = {4};
  config.codecs = {{"bytes", zp::json::object{{"endian", "little"}}}};
  if ((flags & 1) != 0) config.codecs.push_back({"zstd"});
  if ((flags & 2) != 0) config.codecs.push_back({"crc32c"});
  config.location = (flags & 4) != 0 ? zp::index_location::start : zp::index_location::end;
  out.codecs = {config.to_spec().value()};
  if ((flags & 8) != 0) out.codecs.push_back({"gzip"});
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input in(data, size);
  const std::uint8_t flags = in.byte();
  const zp::index_t inner = 1 + in.byte() % 16;
  std::vector<std::byte> stored(in.rest().begin(), in.rest().end());
  const std::size_t index_bytes = 16 * static_cast<std::size_t>(inner);
  if ((flags & 16) != 0 && stored.size() >= index_bytes + 4) {
    // With the right checksum, so that the entries are looked at.
    std::byte* index =
        (flags & 4) != 0 ? stored.data() : stored.data() + stored.size() - index_bytes - 4;
    const std::uint32_t sum = zp::crc32c(zp::bytes_view(index, index_bytes));
    std::memcpy(index + index_bytes, &sum, sizeof sum);
  }
  const zp::memory_store store;
  const zp::array_metadata metadata = metadata_of(flags, inner);
  const auto made = zp::array::create(store, key("w"), metadata, bounded());
  require(made.has_value(), "the array can be made");
  store.put(key("w/c/0"), stored).value();

  const auto whole = made->read(zp::box::whole(metadata.shape));
  for (zp::index_t i = 0; i < metadata.shape[0]; i += 3) {
    const auto one = made->read(zp::box{{i}, {1}});
    if (!whole) continue;
    require(one.has_value(), "a part of what can be read can be read");
    require(
        one->data<std::uint16_t>()[0] == whole->data<std::uint16_t>()[static_cast<std::size_t>(i)],
        "a part is the same in the whole");
  }
  // A write to one element keeps the others, or refuses.
  const std::uint16_t value = 7;
  const auto written = made->write(
      zp::box{{1}, {1}},
      zp::dense_view(reinterpret_cast<const std::byte*>(&value), {zp::dtype_kind::uint16, {1}}));
  if (written && whole) {
    const auto after = made->read(zp::box::whole(metadata.shape));
    require(after.has_value(), "what was written can be read");
    for (std::size_t i = 0; i < after->data<std::uint16_t>().size(); ++i)
      require(after->data<std::uint16_t>()[i] == (i == 1 ? value : whole->data<std::uint16_t>()[i]),
              "a write changes what it is told to and nothing else");
  }
  return 0;
}
