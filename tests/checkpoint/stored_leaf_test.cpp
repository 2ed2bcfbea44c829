// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace stored_leaf_test {

using namespace zarrpoint;

TEST_CASE("arrays of one document share what was made of it, and have their own elements") {
  const memory_store store;
  const array_metadata metadata{.shape = {3},
                                .type = dtype_kind::int32,
                                .chunk_shape = {3},
                                .codecs = {{"bytes", json::object{{"endian", "little"}}}}};
  const detail::stored_document document(to_v3(metadata).value());
  int opened = 0;
  const auto open = [&](const store_key& key) -> result<array> {
    ++opened;
    ZARRPOINT_TRY(parsed, parse_array_v3(document.content()));
    return array::from_metadata(store, key, std::move(parsed));
  };
  const auto refuse = [&](const store_key&) -> result<array> {
    return error{errc::unsupported, "no"};
  };
  const auto key = [](const char* text) { return store_key::parse(text).value(); };

  // A failure is not kept.
  CHECK(document.array_at(key("a"), refuse).failure().code == errc::unsupported);
  const array a = document.array_at(key("a"), open).value();
  const array b = document.array_at(key("b"), open).value();
  CHECK(document.array_at(key("c"), refuse).has_value());
  CHECK(opened == 1);
  CHECK(a.key().str() == "a");
  CHECK(b.key().str() == "b");
  CHECK(&a.metadata() == &b.metadata());
  CHECK(&a.layout() == &b.layout());
  CHECK(b.metadata() == parse_array_v3(document.content()).value());

  const std::vector<std::int32_t> ones(3, 1), twos(3, 2);
  const auto view = [](const std::vector<std::int32_t>& values) {
    return dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_kind::int32, {3}});
  };
  a.write(box::whole({3}), view(ones)).value();
  b.write(box::whole({3}), view(twos)).value();
  CHECK(a.read(box::whole({3})).value().data<std::int32_t>()[2] == 1);
  CHECK(b.read(box::whole({3})).value().data<std::int32_t>()[2] == 2);
  // Digests are those of an array, not of its document.
  CHECK(b.expecting(std::make_shared<const chunk_digests>()).same_at(key("a")).expected() ==
        nullptr);
}

}  // namespace stored_leaf_test
