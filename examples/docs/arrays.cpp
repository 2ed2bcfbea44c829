// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/arrays.md. Each returns whether it gave what the page promises.
//
//   docs_arrays [folder for the arrays]

#include <zarrpoint/array.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

zp::host_view view_of(const std::vector<std::int32_t>& values, const zp::dims& shape) {
  const zp::tensor_spec spec{zp::dtype_kind::int32, shape};
  return zp::dense_view(reinterpret_cast<const std::byte*>(values.data()), spec);
}

/// 0, 1, 2, ...
std::vector<std::int32_t> counting(std::size_t count) {
  std::vector<std::int32_t> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::vector<std::int32_t> values_of(const zp::tensor& of) {
  const std::span<const std::int32_t> all = of.data<std::int32_t>();
  return {all.begin(), all.end()};
}

zp::array_metadata small() {
  zp::array_metadata out;
  out.type = zp::dtype_kind::int32;
  out.shape = {6, 8};
  out.chunk_shape = {3, 4};
  out.fill = zp::fill_value::zero(out.type);
  out.codecs = zp::zstd_codecs();
  return out;
}

bool make_both(const std::string& folder) {
  const std::vector<std::int32_t> values = counting(48);
  auto store = zp::file_store::open(folder + "/both", {.create = true}).value();

  zp::array_metadata metadata;
  metadata.type = zp::dtype_kind::int32;
  metadata.shape = {6, 8};
  metadata.chunk_shape = {3, 4};
  metadata.fill = zp::fill_value::of(std::int32_t{-1});
  metadata.codecs = zp::zstd_codecs(3);
  metadata.dimension_names = {"time", "place"};
  metadata.attributes = zp::json::object{{"unit", "K"}};
  const auto v3 = zp::store_key::parse("v3").value();
  auto made = zp::array::create(store, v3, metadata).value();
  made.write(zp::box::whole({6, 8}), view_of(values, {6, 8})).value();

  metadata.zarr_format = 2;
  metadata.keys = {zp::chunk_key_encoding::style::v2, '.'};
  metadata.dimension_names.reset();
  metadata.codecs = {{"bytes", zp::json::object{{"endian", "big"}}},  // ">i4"
                     {"zstd", zp::json::object{{"level", 3}}}};
  const auto v2 = zp::store_key::parse("v2").value();
  zp::array::create(store, v2, metadata).value();

  auto a = zp::array::open(store, v3).value();
  zp::tensor part = a.read(zp::box({1, 2}, {2, 3})).value();                // a[1:3, 2:5]
  zp::tensor even = a.read(zp::selection({0, 0}, {3, 4}, {2, 2})).value();  // a[::2, ::2]
  a.write(zp::selection({0, 0}, {3, 4}, {2, 2}), even.view()).value();      // and back

  return values_of(part) == std::vector<std::int32_t>{10, 11, 12, 18, 19, 20} &&
         zp::array::open(store, v2).value().metadata().zarr_format == 2;
}

bool own_types() {
  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), small()).value();
  a.write(zp::box::whole({6, 8}), counting(48)).value();

  std::vector<std::int32_t> row(8);
  a.read(zp::box({5, 0}, {1, 8}), row).value();              // a[5, :]
  a.write(zp::box({0, 0}, {2, 4}), std::span(row)).value();  // as many elements
  std::array<std::array<double, 3>, 2> cast{};               // of the part's shape
  a.read(zp::box({1, 2}, {2, 3}), cast, {.cast = true}).value();

  return row[0] == 40 && cast[0][0] == 46 && cast[1][2] == 20;
}

bool in_background() {
  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), small()).value();
  a.write(zp::box::whole({6, 8}), counting(48)).value();

  std::vector<std::int32_t> top(24), sevens(12, 7);
  zp::pending<void> filling = a.read_async(zp::box({0, 0}, {3, 8}), top);  // borrows `top`
  zp::pending<zp::tensor> rest = a.read_async(zp::box({3, 0}, {3, 4}));    // a tensor
  zp::pending<void> storing = a.write_async(zp::box({3, 4}, {3, 4}), sevens);
  filling.get().value();  // waits, and gives the errors that `read` gives
  const zp::tensor below = rest.get().value();
  storing.get().value();

  std::vector<std::int32_t> stored(12);
  a.read(zp::box({3, 4}, {3, 4}), stored).value();
  return top == counting(24) && values_of(below)[11] == 43 && stored == sevens;
}

bool select() {
  const std::vector<std::int32_t> values = counting(48);
  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), small()).value();
  a.write(zp::box::whole({6, 8}), view_of(values, {6, 8})).value();

  const zp::indexed_array all(a);                      // reads nothing
  auto last = all.sliced(0, {-2, {}, 1}).value();      // a[-2:]
  auto turned = last.sliced(1, {{}, {}, -1}).value();  // a[-2:, ::-1]
  auto listed = all.taken(1, {5, 0, 0}).value();       // a[:, [5, 0, 0]]
  auto masked = all.masked(0, {true, false, false, false, false, true}).value();
  auto column = all.at(1, 3).value();                // a[:, 3]
  auto swapped = turned.transposed({1, 0}).value();  // a[-2:, ::-1].T
  zp::tensor read = swapped.read().value();          // now: chunks that hold some of it

  column.write(view_of({9, 9, 9, 9, 9, 9}, {6})).value();

  const std::vector<zp::dims> points{{0, 1}, {5, 7}, {0, 1}};
  zp::tensor picked = zp::tensor::make({zp::dtype_kind::int32, {3}}).value();
  zp::read_points(a, points, picked.mutable_view()).value();

  return read.shape() == zp::dims{8, 2} && read.data<std::int32_t>()[1] == 47 &&
         listed.shape() == zp::dims{6, 3} && masked.shape() == zp::dims{2, 8} &&
         values_of(column.read().value()) == std::vector<std::int32_t>(6, 9) &&
         values_of(picked) == std::vector<std::int32_t>{1, 47, 1};
}

bool grow() {
  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), small()).value();
  const std::vector<std::int32_t> row(8, 7);

  auto longer = zp::append(a, 0, view_of(row, {1, 8})).value();  // {7, 8}
  auto wider = zp::resize(longer, {7, 16}).value();              // new elements: the fill value
  auto cut = zp::resize(wider, {2, 2}).value();                  // erases what lies beyond

  return longer.spec().shape == zp::dims{7, 8} && cut.spec().shape == zp::dims{2, 2};
}

bool one_by_one() {
  const std::vector<std::int32_t> values = counting(48);
  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), small()).value();
  a.write(zp::box::whole({6, 8}), view_of(values, {6, 8})).value();

  std::int64_t sum = 0;
  for (const zp::box& part : zp::chunk_boxes(a)) {
    const zp::tensor chunk = a.read(part).value();  // no more than a chunk in memory
    for (const std::int32_t value : chunk.data<std::int32_t>()) sum += value;
  }

  return sum == 47 * 48 / 2;
}

bool shards(const std::string& folder) {
  auto store = zp::file_store::open(folder + "/shards", {.create = true}).value();

  zp::sharding_config inner;
  inner.chunk_shape = {10, 10};  // read, compressed, checked as one
  inner.codecs = zp::zstd_codecs();
  inner.location = zp::index_location::start;  // by default at the end

  zp::array_metadata metadata;
  metadata.type = zp::dtype_kind::int32;
  metadata.shape = {250, 120};
  metadata.chunk_shape = {100, 100};  // a shard: one file
  metadata.fill = zp::fill_value::zero(metadata.type);
  metadata.codecs = {inner.to_spec().value()};
  auto a = zp::array::create(store, zp::store_key::root(), metadata).value();
  a.write(zp::box({0, 0}, {10, 10}), view_of(counting(100), {10, 10})).value();
  a.write(zp::box({10, 0}, {5, 1}), view_of({1, 2, 3, 4, 5}, {5, 1})).value();

  zp::compaction done = zp::compact(a).value();  // of shards with gaps

  return done.shards == 1 && done.rewritten == 0 &&
         a.read(zp::box({9, 9}, {1, 1})).value().data<std::int32_t>()[0] == 99;
}

bool nested() {
  zp::sharding_config innermost;
  innermost.chunk_shape = {5, 5};
  innermost.codecs = zp::zstd_codecs();
  zp::sharding_config outer;
  outer.chunk_shape = {20, 20};
  outer.codecs = {innermost.to_spec().value()};

  zp::array_metadata metadata = small();
  metadata.shape = {100, 100};
  metadata.chunk_shape = {40, 40};
  metadata.codecs = {outer.to_spec().value(), {"crc32c"}};  // a checksum of the shard as a whole

  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), metadata).value();
  a.write(zp::box({7, 7}, {1, 1}), view_of({42}, {1, 1})).value();
  return a.read(zp::box({7, 7}, {1, 1})).value().data<std::int32_t>()[0] == 42;
}

bool uneven() {
  zp::array_metadata metadata = small();

  metadata.shape = {60, 31};
  metadata.edges = {zp::axis_edges{{{10, 6}}, true},      // 10, 10, ... for ever
                    zp::axis_edges{{{31, 1}, {28, 1}}}};  // 31, then 28
  metadata.chunk_shape = {10, 31};                        // the largest along each axis

  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), metadata).value();
  a.write(zp::box({59, 30}, {1, 1}), view_of({8}, {1, 1})).value();
  return zp::chunk_boxes(a).size() == 6 &&
         a.read(zp::box({59, 30}, {1, 1})).value().data<std::int32_t>()[0] == 8;
}

bool missing() {
  const auto a = zp::array::create(zp::memory_store(), zp::store_key::root(), small()).value();

  zp::tensor filled = a.read(zp::box::whole({6, 8})).value();  // the fill value
  auto lost = a.read(zp::box::whole({6, 8}), {.missing = zp::missing_chunks::error});

  return filled.data<std::int32_t>()[0] == 0 && !lost && lost.failure().code == zp::errc::not_found;
}

bool degenerate() {
  zp::array_metadata metadata = small();
  metadata.shape = {};
  metadata.chunk_shape = {};
  const auto scalar =
      zp::array::create(zp::memory_store(), zp::store_key::root(), metadata).value();
  scalar.write(zp::box({}, {}), view_of({5}, {})).value();

  metadata.shape = {0, 8};
  metadata.chunk_shape = {3, 4};
  const auto empty = zp::array::create(zp::memory_store(), zp::store_key::root(), metadata).value();
  return scalar.read(zp::box({}, {})).value().data<std::int32_t>()[0] == 5 &&
         empty.read(zp::box::whole({0, 8})).value().size() == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const bool ok = make_both(folder) && own_types() && in_background() && select() && grow() &&
                  one_by_one() && shards(folder) && nested() && uneven() && missing() &&
                  degenerate();
  std::puts(ok ? "as docs/arrays.md says" : "not what docs/arrays.md says");
  return ok ? 0 : 1;
}
