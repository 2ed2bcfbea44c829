// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Few stored bytes that ask for much memory: within any budget they are an error, and take no more
// than the budget and a constant.

#include <zarrpoint/array.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "budget/counted_peak.hpp"
#include "support/array_cases.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace memory_bomb_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

context within(std::size_t limit) {
  static test::counted_resource counted;
  return {.codecs = all_codecs::table(), .limit = {.memory = limit}, .resource = &counted};
}

constexpr std::size_t mega = std::size_t{1} << 20;

/// What `f` says in budgets of these sizes, the largest of them too small for it.
void check_refused(const std::function<result<void>(const context&)>& f, std::size_t largest) {
  for (std::size_t limit = 1000; limit <= largest; limit *= 4) {
    CAPTURE(limit);
    result<void> done;
    const std::size_t peak = test::peak_of([&] { done = f(within(limit)); });
    CAPTURE(peak);
    CHECK(test::keeps_to(limit, peak));
    REQUIRE_FALSE(done);
    CAPTURE(to_string(done.failure()));
    CHECK(done.failure().code == errc::resource_limit);
  }
}

template <class T>
result<void> dropped(result<T> of) {
  if (!of) return std::move(of).failure();
  return {};
}

any_store with_document(const std::string& text) {
  memory_store out;
  out.put(key_of("zarr.json"), as_bytes(std::string_view(text))).value();
  return out;
}

std::string repeated(std::string_view one, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out.append(i == 0 ? "" : ",").append(one);
  return out;
}

}  // namespace

TEST_CASE("budget: one chunk that decodes to much more than is stored") {
  const auto size = static_cast<index_t>(40 * mega);
  for (const codec_spec& codec : {zstd_spec(), codec_spec{"gzip", json::object{{"level", 1}}},
                                  codec_spec{"blosc", json::object{{"cname", "zstd"},
                                                                   {"clevel", 1},
                                                                   {"shuffle", "shuffle"},
                                                                   {"typesize", 4},
                                                                   {"blocksize", 0}}}}) {
    CAPTURE(codec.name);
    array_metadata metadata = raw_metadata(dtype_kind::int8, {size}, {size});
    metadata.codecs.push_back(codec);
    const memory_store store;
    const auto made = array::create(store, key_of("a"), metadata, within(SIZE_MAX)).value();
    made.write(box::whole({size}), tensor::make({dtype_kind::int8, {size}}).value().view(),
               {.elide_fill = false})
        .value();
    const auto opened = [&](const context& how) {
      return array::from_metadata(store, key_of("a"), metadata, how).value();
    };
    check_refused([&](const context& how) { return dropped(opened(how).read(box({0}, {100}))); },
                  32 * mega);
    check_refused([&](const context& how) { return dropped(opened(how).read(box::whole({size}))); },
                  32 * mega);
    check_refused(
        [&](const context& how) {
          return dropped(indexed_array(opened(how)).taken(0, {1, 7, size - 1}).value().read());
        },
        32 * mega);
    check_refused(
        [&](const context& how) {
          const std::vector<std::int8_t> some(10);
          return opened(how).write(box({5}, {10}), view_of(some, {10}));
        },
        32 * mega);
  }
}

TEST_CASE("budget: strings, a fill value and an index that are long") {
  array_metadata metadata = raw_metadata(dtype_kind::string, {64}, {64});
  metadata.codecs.push_back(zstd_spec());
  const memory_store store;
  const auto made = array::create(store, key_of("a"), metadata, within(SIZE_MAX)).value();
  {
    tensor text = tensor::make(metadata.spec()).value();
    for (int i = 0; i < 64; ++i)
      reinterpret_cast<std::string*>(text.mutable_view().data)[i].assign(mega / 8, 'x');
    made.write(box::whole({64}), text.view()).value();
  }
  check_refused(
      [&](const context& how) {
        return dropped(
            array::from_metadata(store, key_of("a"), metadata, how).value().read(box::whole({64})));
      },
      4 * mega);

  const index_t inner = 1 << 16;
  const array_metadata sharded =
      sharded_metadata(raw_metadata(dtype_kind::int8, {2 * inner}, {2 * inner}), {2});
  const std::vector<std::int8_t> one(1, 1);
  array::create(store, key_of("b"), sharded, within(SIZE_MAX))
      .value()
      .write(box({0}, {1}), view_of(one, {1}))
      .value();
  check_refused(
      [&](const context& how) {
        return dropped(
            array::from_metadata(store, key_of("b"), sharded, how).value().read(box({0}, {1})));
      },
      mega / 2);
}

TEST_CASE("budget: metadata that claim much") {
  const std::string array_text =
      R"({"zarr_format":3,"node_type":"array","shape":[1099511627776],"data_type":"float32",)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1048576]}},)"
      R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[)";
  const any_store vast =
      with_document(array_text + R"({"name":"bytes","configuration":{"endian":"little"}}]})");
  check_refused(
      [&](const context& how) -> result<void> {
        ZARRPOINT_TRY(opened, open(vast, how));
        return dropped(opened.load<std::vector<float>>(""));
      },
      64 * mega);
}

TEST_CASE("budget: documents") {
  const std::string group = R"({"zarr_format":3,"node_type":"group","attributes":{"a":)";
  const std::string array_text =
      R"({"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32",)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},)"
      R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[)";
  std::string keys;
  for (int i = 0; i < 60000; ++i)
    keys.append(i == 0 ? "" : ",").append("\"").append(std::to_string(i)).append("\":0");
  const std::string values = group + "[" + repeated("0", 300000) + "]}}";
  for (const std::string& text :
       {values, group + "[" + repeated("[]", 200000) + "]}}", group + "{" + keys + "}}}",
        group + "\"" + std::string(mega, 'x') + "\"}}",
        array_text + repeated(R"({"name":"bytes"})", 100000) + "]}"}) {
    CAPTURE(text.substr(0, 200));
    const any_store store = with_document(text);
    for (std::size_t limit = 1000; limit <= 64 * mega; limit *= 4) {
      CAPTURE(limit);
      result<void> opened;
      const std::size_t peak = test::peak_of([&] { opened = dropped(open(store, within(limit))); });
      CAPTURE(peak);
      CHECK(test::keeps_to(limit, peak));
      if (limit < mega) CHECK_FALSE(opened);
    }
  }
}

}  // namespace memory_bomb_test
