// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/dlpack/dlpack_export.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/fill_value.hpp>
#include <zarrpoint/zarr/metadata.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include "support/array_cases.hpp"
#include "support/random_rounds.hpp"
#include "support/recording_store.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace array_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

/// Any type: one without parameters, or one of a few with them.
dtype random_type(random_source& random) {
  static const dtype others[] = {
      dtype::raw_bytes(3),
      dtype::null_terminated(5),
      dtype::utf32(2),
      dtype::datetime(time_unit::ms, 25),
      dtype::timedelta(time_unit::s),
      make_record(
          {{"a", dtype_kind::int16},
           {"b", make_record({{"x", dtype_kind::complex64}, {"y", dtype_kind::int4}}).value()},
           {"c", dtype::utf32(1)},
           {"d", dtype_kind::bool_}})
          .value(),
  };
  const std::size_t index = pick(random, all_dtype_kinds.size() + 2 * std::size(others));
  if (index < all_dtype_kinds.size()) return all_dtype_kinds[index];
  return others[(index - all_dtype_kinds.size()) % std::size(others)];
}

/// The bytes that a reader gives for these: bools are 0 or 1, bits that hold nothing are 0.
void make_canonical(std::byte* element, const dtype& type) {
  for_each_scalar(type, [&](std::size_t at, const dtype& scalar) {
    const std::size_t bits =
        scalar.is_below_byte() || scalar == dtype_kind::bool_ ? scalar.bits() : 8;
    for (std::size_t i = 0; bits < 8 && i < scalar.size(); ++i)
      element[at + i] &= static_cast<std::byte>((1U << bits) - 1);
  });
}

/// `sharding_indexed` of inner chunks of `inner`, sometimes of shards of their own.
codec_spec random_sharding(random_source& random, const dims& inner,
                           std::vector<codec_spec> codecs) {
  sharding_config config;
  config.chunk_shape = inner;
  config.codecs = std::move(codecs);
  config.location = pick(random, 2) == 0 ? index_location::start : index_location::end;
  config.index_codecs = {bytes_spec(pick(random, 3) == 0 ? "big" : "little")};
  if (pick(random, 2) == 0) config.index_codecs.push_back(crc32c_spec());
  if (pick(random, 4) == 0) {
    dims smaller = inner;
    for (index_t& extent : smaller) extent = pick(random, 2) == 0 ? 1 : extent;
    config.codecs = {random_sharding(random, smaller, std::move(config.codecs))};
    if (pick(random, 3) == 0) config.codecs.push_back(crc32c_spec());
  }
  return config.to_spec().value();
}

/// Chunks of several extents, all of them multiples of `inner`, that reach the end of each axis.
void random_edges(random_source& random, const dims& inner, array_metadata& out) {
  for (std::size_t d = 0; d < inner.rank(); ++d) {
    axis_edges axis;
    if (pick(random, 4) == 0) {
      axis = axis_edges({{out.chunk_shape[d], 1}}, true);
    } else {
      std::vector<chunk_run> runs;
      for (index_t end = 0; runs.empty() || end < out.shape[d];) {
        const chunk_run run{inner[d] * (1 + static_cast<index_t>(pick(random, 3))),
                            1 + static_cast<index_t>(pick(random, 2))};
        end += run.extent * run.count;
        if (!runs.empty() && runs.back().extent == run.extent) {
          runs.back().count += run.count;
        } else {
          runs.push_back(run);
        }
      }
      axis = axis_edges(std::move(runs));
      out.chunk_shape[d] = axis.largest();
    }
    out.edges.push_back(std::move(axis));
  }
}

/// A metadata document of any kind that can be written: both formats, every dtype, sharded or
/// not, in shards of shards, compressed or not.
array_metadata random_metadata(random_source& random) {
  array_metadata out;
  out.type = random_type(random);
  const std::size_t rank = pick(random, 4);
  dims inner;
  for (std::size_t d = 0; d < rank; ++d) {
    inner.push_back(1 + static_cast<index_t>(pick(random, 5)));
    out.chunk_shape.push_back(inner[d] * (1 + static_cast<index_t>(pick(random, 3))));
    out.shape.push_back(pick(random, 30) == 0 ? 0 : 1 + static_cast<index_t>(pick(random, 14)));
  }
  out.zarr_format = pick(random, 4) == 0 && out.type != dtype_kind::bytes ? 2 : 3;
  const bool v2 = out.zarr_format == 2;
  if (!v2 && rank > 0 && pick(random, 5) == 0) random_edges(random, inner, out);
  out.keys.kind = v2 || pick(random, 3) == 0 ? chunk_key_encoding::style::v2
                                             : chunk_key_encoding::style::default_;
  out.keys.separator = pick(random, 2) == 0 ? '/' : '.';
  if (out.type.is_variable()) {
    out.fill = pick(random, 2) == 0 ? fill_value::of_text("fill") : fill_value::zero(out.type);
  } else {
    const auto byte = static_cast<std::byte>(pick(random, 2));
    // No text has code points of four bytes of 1.
    const bool is_text = !all_scalars(
        out.type, [](const dtype& one) { return one.kind() != dtype_kind::fixed_length_utf32; });
    const std::vector<std::byte> element(out.type.size(), is_text ? std::byte{0} : byte);
    out.fill = fill_value::of_bytes(element);
  }
  if (v2 && rank > 1 && pick(random, 2) == 0) {
    dims order;
    for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<index_t>(d));
    out.codecs.push_back(transpose_spec(order));
  } else if (!v2 && pick(random, 3) == 0) {
    dims order;
    for (std::size_t d = 0; d < rank; ++d) order.push_back(static_cast<index_t>(d));
    std::shuffle(order.begin(), order.end(), random);
    out.codecs.push_back(transpose_spec(order));
  }
  // Zarr v2 has a name for bfloat16 but no byte order beside it.
  const bool big = pick(random, 3) == 0 && !(v2 && detail::has_bare_name_in_v2(out.type));
  out.codecs.push_back(out.type.is_variable() ? vlen_spec(out.type)
                                              : bytes_spec(big ? "big" : "little"));
  if (pick(random, 2) == 0) {
    out.codecs.push_back(zstd_spec());
    if (v2) out.codecs.back().configuration = json::object{{"level", 1}};
  }
  if (v2) return out;
  if (pick(random, 3) == 0) out.codecs.push_back(crc32c_spec());
  if (pick(random, 2) == 0) return out;
  std::vector<codec_spec> before;
  dims shape = inner;
  if (pick(random, 4) == 0) {  // a transpose before the shard, whose grid is then in its order
    dims order;
    for (std::size_t d = 0; d < rank; ++d) order.push_back(static_cast<index_t>(d));
    std::shuffle(order.begin(), order.end(), random);
    before.push_back(transpose_spec(order));
    for (std::size_t d = 0; d < rank; ++d) shape[d] = inner[static_cast<std::size_t>(order[d])];
  }
  before.push_back(random_sharding(random, shape, std::move(out.codecs)));
  if (pick(random, 6) == 0) before.push_back(pick(random, 2) == 0 ? zstd_spec() : crc32c_spec());
  out.codecs = std::move(before);
  return out;
}

selection random_selection(random_source& random, const dims& shape) {
  selection out(dims(shape.rank(), 0), dims(shape.rank(), 0), dims(shape.rank(), 1));
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 0) continue;
    const auto extent = static_cast<std::size_t>(shape[d]);
    if (pick(random, 3) == 0) {
      out.shape[d] = shape[d];
      continue;
    }
    out.offset[d] = static_cast<index_t>(pick(random, extent));
    if (pick(random, 3) == 0) out.step[d] = 1 + static_cast<index_t>(pick(random, extent + 2));
    const auto most = static_cast<std::size_t>((shape[d] - out.offset[d] - 1) / out.step[d] + 1);
    out.shape[d] = static_cast<index_t>(pick(random, 15) == 0 ? 0 : 1 + pick(random, most));
  }
  return out;
}

/// A tensor in memory of any strides, with elements of few values, so that fill values occur.
class scattered {
 public:
  scattered(random_source& random, const tensor_spec& spec, bool small_values)
      : spec_(spec), layout_(random_layout(random, spec.shape, memory_size(spec.type))) {
    if (spec.type.is_variable()) {
      // Strings need whole slots: dense, whatever the layout says.
      texts_.resize(static_cast<std::size_t>(element_count(spec.shape).value()) + 1);
      const char* const words[] = {"fill", "", "a", "a longer text that is allocated on the heap"};
      for (std::string& text : texts_) text = small_values ? "fill" : words[pick(random, 4)];
      return;
    }
    bytes_.resize(layout_.size + 1);
    for (std::byte& b : bytes_) {
      b = small_values ? std::byte{1} : static_cast<std::byte>(pick(random, 2));
      if (spec.type != dtype_kind::bool_ && !small_values && pick(random, 2) == 0)
        b = static_cast<std::byte>(random());
    }
    for_each_coordinate(spec.shape, [&](const dims& at) {
      make_canonical(bytes_.data() + layout_.first + offset_of(at, layout_.strides), spec.type);
    });
  }
  mutable_host_view view() {
    if (spec_.type.is_variable())
      return dense_view(reinterpret_cast<std::byte*>(texts_.data()), spec_);
    return {bytes_.data() + layout_.first, spec_.type, spec_.shape, layout_.strides, {}, {}};
  }

 private:
  tensor_spec spec_;
  layout layout_;
  std::vector<std::byte> bytes_;
  std::vector<std::string> texts_;
};

void round_trips(random_source& random, const any_executor& executor) {
  const array_metadata metadata = random_metadata(random);
  recording_store store;
  context how;
  how.executor = executor;
  how.limit.bytes_in_flight = pick(random, 3) == 0 ? 64 : 0;
  const auto created = array::create(store, key_of("a"), metadata, how);
  REQUIRE_MESSAGE(created.has_value(), (created ? "" : to_string(created.failure())));
  const array opened = array::open(store, key_of("a"), how).value();
  REQUIRE(opened.metadata().zarr_format == metadata.zarr_format);
  REQUIRE(opened.metadata().keys == metadata.keys);
  REQUIRE(opened.spec() == metadata.spec());

  tensor model = tensor::make(metadata.spec()).value();
  const bytes_view fill =
      metadata.type.is_variable() ? as_bytes(metadata.fill.text()) : metadata.fill.bytes();
  fill_elements(model.mutable_view(), fill);
  chunk_digests digests;
  const std::size_t writes = pick(random, 5);
  for (std::size_t i = 0; i < writes; ++i) {
    const selection part =
        i == 0 ? selection(box::whole(metadata.shape)) : random_selection(random, metadata.shape);
    scattered from(random, {metadata.type, part.shape}, pick(random, 4) == 0);
    write_options options;
    options.elide_fill = pick(random, 2) == 0;
    options.collected = &digests;
    const auto written = opened.write(part, as_const(from.view()), options);
    REQUIRE_MESSAGE(written.has_value(), (written ? "" : to_string(written.failure())));
    copy_elements(subview(model.mutable_view(), part), as_const(from.view()));
  }
  for (int i = 0; i < 6; ++i) {
    const selection part =
        i == 0 ? selection(box::whole(metadata.shape)) : random_selection(random, metadata.shape);
    scattered into(random, {metadata.type, part.shape}, false);
    read_options options;
    if (writes != 0 && pick(random, 2) == 0) options.expected = &digests;
    const auto read = opened.read(part, into.view(), options);
    REQUIRE_MESSAGE(read.has_value(), (read ? "" : to_string(read.failure())));
    REQUIRE(elements_of(as_const(into.view())) == elements_of(subview(model.view(), part)));
  }
  const auto mapped = opened.view(read_options{.expected = writes != 0 ? &digests : nullptr});
  REQUIRE(mapped.has_value());
  if (*mapped) CHECK(elements_of((*mapped)->elements) == elements_of(model.view()));
}

TEST_CASE("what is written to boxes is read from boxes, for every kind of array") {
  random_source random(20260722);
  for (int round = 0; round < random_rounds(700); ++round) {
    CAPTURE(round);
    round_trips(random, inline_executor{});
  }
}

TEST_CASE("the same with many workers") {
  random_source random(1);
  const thread_pool pool(4);
  for (int round = 0; round < random_rounds(150); ++round) {
    CAPTURE(round);
    round_trips(random, pool.executor());
  }
}

TEST_CASE("the same bytes in files as in memory") {
  const test::temp_directory folder;
  const any_store files = file_store::open(folder.path().string(), {.create = true}).value();
  const any_store memory = memory_store();
  const thread_pool pool(3);
  context how;
  how.executor = pool.executor();
  auto metadata = raw_metadata(dtype_kind::int32, {512, 1024}, {256, 1024});
  metadata.codecs.push_back(zstd_spec());
  const auto data = counting(metadata.shape);
  for (const auto& one :
       {metadata, sharded_metadata(metadata, {64, 1024}),
        sharded_metadata(raw_metadata(dtype_kind::int32, {512, 1024}, {512, 1024}), {64, 1024})}) {
    static int number = 0;
    const store_key key = key_of("a/b" + std::to_string(number++));
    chunk_digests digests[2];
    int i = 0;
    for (const any_store& store : {files, memory}) {
      const array w = array::create(store, key, one, how).value();
      w.write(box::whole(one.shape), view_of(data, one.shape),
              write_options{.collected = &digests[i]})
          .value();
      const read_options strict{.missing = missing_chunks::error, .expected = &digests[i++]};
      const auto read = array::open(store, key, how).value().read(box::whole(one.shape), strict);
      REQUIRE_MESSAGE(read.has_value(), (read ? "" : to_string(read.failure())));
      CHECK(std::equal(data.begin(), data.end(), read->data<std::int32_t>().begin()));
      if (const auto mapped = w.view(strict).value())
        CHECK(std::memcmp(mapped->elements.data, data.data(), data.size() * 4) == 0);
    }
    CHECK(digests[0] == digests[1]);
  }
}

TEST_CASE("a synced file has the same bytes as memory, with chunks that end anywhere") {
  const test::temp_directory folder;
  const any_store files =
      file_store::open(folder.path().string(), {.create = true, .sync = true}).value();
  const any_store memory = memory_store();
  const thread_pool pool(3);
  context how;
  how.executor = pool.executor();
  auto metadata = raw_metadata(dtype_kind::int32, {1600, 1024}, {1600, 1024});
  metadata.codecs.push_back(zstd_spec());
  metadata = sharded_metadata(metadata, {100, 1024});
  auto data = counting(metadata.shape);
  std::mt19937 random(5);
  for (std::size_t i = 0; i < data.size(); ++i)  // inner chunks of 200 to 400 KB
    if (i % 1024 < 512 + i / 4096) data[i] = static_cast<std::int32_t>(random());
  std::vector<std::vector<std::byte>> stored;
  for (const any_store& store : {files, memory}) {
    const array w = array::create(store, key_of("w"), metadata, how).value();
    w.write(box::whole(metadata.shape), view_of(data, metadata.shape)).value();
    const auto shard = store.open(key_of("w/c/0/0")).value();
    stored.emplace_back(shard->size());
    shard->read(0, stored.back()).value();
  }
  CHECK(stored[0].size() > 3'000'000);
  CHECK(stored[0] == stored[1]);
}

TEST_CASE("an array is a handle") {
  recording_store store;
  const auto metadata = raw_metadata(dtype_kind::int32, {4}, {2});
  const array first = array::create(store, key_of("x/y"), metadata).value();
  const array second = first;
  CHECK(second.spec() == tensor_spec{dtype_kind::int32, {4}});
  CHECK(second.key() == key_of("x/y"));
  CHECK(second.layout().inner_count() == 1);
  const auto data = counting({4});
  first.write(box::whole({4}), view_of(data, {4})).value();
  CHECK(store.keys() == std::vector<std::string>{"x/y/c/0", "x/y/c/1", "x/y/zarr.json"});
  CHECK(second.read(box{{1}, {2}}).value().data<std::int32_t>()[1] == 3);
}

}}  // namespace array_test
