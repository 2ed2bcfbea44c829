// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/read_leaf.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace read_leaf_test {

using namespace zarrpoint;

namespace {

array saved_array(const memory_store& store, const std::vector<float>& values) {
  save(store, {{"w", values}}).value();
  return array::open(store, store_key::parse("w").value()).value();
}

}  // namespace

TEST_CASE("a leaf of another shape is cut, or padded with zeros") {
  const memory_store store;
  const array source = saved_array(store, {1, 2, 3, 4});
  for (const index_t extent : {index_t{0}, index_t{2}, index_t{4}, index_t{7}}) {
    tensor into = tensor::make({dtype_kind::float32, {extent}}).value();
    for (float& value : into.data<float>()) value = -1;
    detail::read_to_host(source, into.mutable_view(), {}).value();
    for (std::size_t i = 0; i < into.data<float>().size(); ++i)
      CHECK(into.data<float>()[i] == (i < 4 ? static_cast<float>(i + 1) : 0.0F));
  }
}

TEST_CASE("strings are padded with empty ones") {
  const memory_store store;
  const std::vector<std::string> words{"a", "b"};
  save(store, {{"words", words}}).value();
  const array source = array::open(store, store_key::parse("words").value()).value();
  tensor into = tensor::make({dtype_kind::string, {3}}).value();
  into.data<std::string>()[2] = "left over";
  detail::read_to_host(source, into.mutable_view(), {}).value();
  CHECK(into.data<std::string>()[1] == "b");
  CHECK(into.data<std::string>()[2].empty());
}

}  // namespace read_leaf_test
