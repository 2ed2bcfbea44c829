// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/indexed_array.hpp>
#include <zarrpoint/array/value_transfer.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace indexed_array_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

/// The elements of a view, each read on its own.
std::vector<std::string> one_by_one(const indexed_array& view) {
  std::vector<std::string> out;
  for_each_coordinate(view.shape(), [&](const dims& at) {
    indexed_array one = view;
    for (std::size_t i = 0; i < at.rank(); ++i) one = one.at(0, at[i]).value();
    const tensor element = one.read().value();
    out.push_back(elements_of(element.view()).front());
  });
  return out;
}

array make_array(int variant, const any_executor& executor, const std::vector<std::int32_t>& data) {
  array_metadata metadata = raw_metadata(dtype_kind::int32, {7, 9, 5}, {4, 4, 2});
  if (variant == 1) metadata = sharded_metadata(metadata, {2, 2, 1});
  if (variant == 2) {
    metadata.chunk_shape = {4, 4, 3};
    metadata.edges = {{{{3, 1}, {4, 1}}}, {{{4, 1}}, true}, {{{2, 1}, {3, 1}}}};
  }
  if (variant == 3) metadata.codecs.push_back(zstd_spec());
  context how;
  how.executor = executor;
  array out = array::create(recording_store(), key_of("a"), metadata, how).value();
  out.write(box::whole(metadata.shape), view_of(data, metadata.shape)).value();
  return out;
}

TEST_CASE("chained views: what NumPy gives for the same expressions") {
  const thread_pool pool(3);
  const auto data = counting({7, 9, 5});
  const auto value = [](index_t i, index_t j, index_t k) {
    return static_cast<std::int32_t>((i * 9 + j) * 5 + k + 1);
  };
  for (int variant = 0; variant < 4; ++variant) {
    CAPTURE(variant);
    const indexed_array all(make_array(variant, pool.executor(), data));
    // a[::-2, 1:8:3, [4, 0, 0]]
    const indexed_array picked = all.sliced(0, {{}, {}, -2})
                                     .value()
                                     .sliced(1, {1, 8, 3})
                                     .value()
                                     .taken(2, {4, 0, 0})
                                     .value();
    CHECK(picked.shape() == dims{4, 3, 3});
    const tensor read = picked.read().value();
    for_each_coordinate(picked.shape(), [&](const dims& at) {
      const index_t k[] = {4, 0, 0};
      CHECK(read.data<std::int32_t>()[static_cast<std::size_t>((at[0] * 3 + at[1]) * 3 + at[2])] ==
            value(6 - 2 * at[0], 1 + 3 * at[1], k[at[2]]));
    });
    // a[-3:, 2][::-1].T
    const indexed_array turned = all.sliced(0, {-3, {}, 1})
                                     .value()
                                     .at(1, 2)
                                     .value()
                                     .sliced(0, {{}, {}, -1})
                                     .value()
                                     .transposed({1, 0})
                                     .value();
    CHECK(turned.shape() == dims{5, 3});
    const tensor columns = turned.read().value();
    for (index_t k = 0; k < 5; ++k) {
      for (index_t i = 0; i < 3; ++i)
        CHECK(columns.data<std::int32_t>()[static_cast<std::size_t>(k * 3 + i)] ==
              value(6 - i, 2, k));
    }
    // a[mask][:, 0, 0]
    const tensor masked = all.masked(0, {true, false, false, true, false, false, true})
                              .value()
                              .at(1, 0)
                              .value()
                              .at(1, -5)
                              .value()
                              .read()
                              .value();
    CHECK(std::vector<std::int32_t>(masked.data<std::int32_t>().begin(),
                                    masked.data<std::int32_t>().end()) ==
          std::vector<std::int32_t>{value(0, 0, 0), value(3, 0, 0), value(6, 0, 0)});
    CHECK(all.sliced(1, {5, 2, 1}).value().read().value().size() == 0);
    CHECK(all.taken(1, {}).value().read().value().size() == 0);
  }
}

TEST_CASE("random chains: whole reads are as many reads of one element, and writes go there too") {
  random_source random(7);
  const thread_pool pool(2);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const auto data = counting({7, 9, 5});
    const array base = make_array(round % 4, pool.executor(), data);
    indexed_array view(base);
    for (std::size_t i = pick(random, 5); i-- > 0;) {
      const std::size_t axis = pick(random, view.shape().rank());
      const index_t extent = view.shape()[axis];
      if (extent == 0) break;
      const auto any = [&] {
        return static_cast<index_t>(pick(random, static_cast<std::size_t>(extent)));
      };
      if (pick(random, 2) == 0) {
        const index_t step = pick(random, 2) == 0 ? 1 : -1;
        view = view.sliced(axis, {{}, {}, step * (1 + any())}).value();
      } else {
        view = view.taken(axis, {any(), any(), any()}).value();
      }
    }
    const tensor read = view.read().value();
    REQUIRE(elements_of(read.view()) == one_by_one(view));

    // Distinct new values: what is there afterwards is one that was written there.
    tensor fresh = tensor::make(view.spec()).value();
    std::int32_t next = 1000;
    for (std::int32_t& one : fresh.data<std::int32_t>()) one = next++;
    view.write(fresh.view()).value();
    const tensor again = view.read().value();
    const tensor all = base.read(box::whole({7, 9, 5})).value();
    std::size_t changed = 0;
    for (std::size_t i = 0; i < data.size(); ++i) changed += all.data<std::int32_t>()[i] != data[i];
    std::vector<std::string> distinct = elements_of(read.view());
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    CHECK(changed == distinct.size());
    for (const std::int32_t one : again.data<std::int32_t>()) CHECK(one >= 1000);
  }
}

TEST_CASE("each chunk is read once, however many of its elements are wanted") {
  recording_store store;
  const array_metadata metadata = raw_metadata(dtype_kind::int32, {100}, {10});
  const array made = array::create(store, key_of("a"), metadata).value();
  const auto data = counting({100});
  made.write(box::whole({100}), view_of(data, {100})).value();
  store->opens = 0;
  const tensor some = indexed_array(made).taken(0, {55, 3, 51, 7, 3}).value().read().value();
  CHECK(some.data<std::int32_t>()[2] == 52);
  CHECK(store->opens == 2);
}

TEST_CASE("points and masks of the whole array") {
  const auto data = counting({7, 9, 5});
  const array made = make_array(1, any_executor(), data);
  const std::vector<dims> points{{6, 8, 4}, {0, 0, 0}, {6, 8, 4}, {3, 1, 2}};
  tensor read = tensor::make({dtype_kind::int32, {4}}).value();
  read_points(made, points, read.mutable_view()).value();
  CHECK(read.data<std::int32_t>()[0] == 315);
  CHECK(read.data<std::int32_t>()[1] == 1);
  CHECK(read.data<std::int32_t>()[2] == 315);
  CHECK(read.data<std::int32_t>()[3] == (3 * 9 + 1) * 5 + 2 + 1);
  const std::vector<dims> outside{{7, 0, 0}};
  tensor one = tensor::make({dtype_kind::int32, {1}}).value();
  CHECK(read_points(made, outside, one.mutable_view()).failure().code == errc::out_of_range);
  CHECK(read_points(made, points, one.mutable_view()).failure().code == errc::shape_mismatch);

  tensor mask = tensor::make({dtype_kind::bool_, {7, 9, 5}}).value();
  std::vector<std::int32_t> wanted;
  for (std::size_t i = 0; i < data.size(); ++i) {
    mask.data<bool>()[i] = i % 7 == 3;
    if (i % 7 == 3) wanted.push_back(data[i]);
  }
  const tensor masked = read_masked(made, mask.view()).value();
  CHECK(std::equal(wanted.begin(), wanted.end(), masked.data<std::int32_t>().begin(),
                   masked.data<std::int32_t>().end()));
  CHECK(read_masked(made, read.view()).failure().code == errc::dtype_mismatch);
  const tensor flat = tensor::make({dtype_kind::bool_, {7}}).value();
  CHECK(read_masked(made, flat.view()).failure().code == errc::shape_mismatch);
}

TEST_CASE("selections and points go to values of one's own, and selections come from them") {
  const auto data = counting({7, 9, 5});
  const array made = make_array(0, any_executor(), data);
  const indexed_array two =
      indexed_array(made).at(0, 0).value().at(0, 0).value().taken(0, {4, 1}).value();
  std::vector<std::int32_t> flat(2);
  two.read(flat).value();
  CHECK(flat == std::vector<std::int32_t>{5, 2});
  std::array<double, 2> wide{};
  CHECK(two.read(std::span(wide)).failure().code == errc::dtype_mismatch);
  two.read(std::span(wide), {.cast = true}).value();
  CHECK(wide[0] == 5);
  two.write(std::vector<std::int32_t>{-5, -2}).value();
  two.read(flat).value();
  CHECK(flat == std::vector<std::int32_t>{-5, -2});
  std::vector<std::int32_t> three(3);
  CHECK(two.read(three).failure().code == errc::shape_mismatch);
  CHECK(two.write(three).failure().code == errc::shape_mismatch);
  // Options are options, and views views.
  read_options options;
  CHECK(two.read(options).value().data<std::int32_t>()[0] == -5);

  const std::vector<dims> points{{0, 0, 4}, {6, 8, 4}, {0, 0, 0}};
  read_points(made, points, three).value();
  CHECK(three == std::vector<std::int32_t>{-5, 7 * 9 * 5, 1});
  CHECK(read_points(made, points, flat).failure().code == errc::shape_mismatch);
}

TEST_CASE("strings, casts and mistakes") {
  auto metadata = raw_metadata(dtype_kind::string, {4}, {3});
  const array words = array::create(recording_store(), key_of("w"), metadata).value();
  tensor texts = tensor::make(metadata.spec()).value();
  for (std::size_t i = 0; i < 4; ++i)
    texts.data<std::string>()[i] = std::string(40, static_cast<char>('a' + i));
  indexed_array(words).sliced(0, {{}, {}, -1}).value().write(texts.view()).value();
  const tensor back = indexed_array(words).taken(0, {0, 3, 0}).value().read().value();
  CHECK(back.data<std::string>()[0] == std::string(40, 'd'));
  CHECK(back.data<std::string>()[1] == std::string(40, 'a'));

  const auto data = counting({7, 9, 5});
  const indexed_array all(make_array(0, any_executor(), data));
  const indexed_array two = all.at(0, 0).value().at(0, 0).value().taken(0, {4, 1}).value();
  std::vector<double> wide(2);
  two.read(view_of(wide, {2}), read_options{.cast = true}).value();
  CHECK(wide == std::vector<double>{5, 2});
  CHECK(two.read(view_of(wide, {2})).failure().code == errc::dtype_mismatch);
  std::vector<std::int32_t> three(3);
  CHECK(two.read(view_of(three, {3})).failure().code == errc::shape_mismatch);
  CHECK(all.sliced(3, {}).failure().code == errc::invalid_argument);
  CHECK(all.taken(0, {7}).failure().code == errc::out_of_range);
  CHECK(all.masked(0, {true}).failure().code == errc::shape_mismatch);
  CHECK(all.transposed({0, 1}).failure().code == errc::invalid_argument);
  CHECK(all.transposed({0, 1, 1}).failure().code == errc::invalid_argument);
  CHECK(all.transposed({0, 1, 3}).failure().code == errc::invalid_argument);
}

}}  // namespace indexed_array_test
