// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/device_read_leaf.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("elements of any size are padded with zeros") {
  const tensor_spec spec{dtype::null_terminated(40), {2}};
  tensor into = tensor::make(spec).value();
  std::fill_n(into.mutable_view().data, 80, std::byte{1});
  detail::fill_with_zero(into.mutable_view());
  CHECK(std::count(into.view().data, into.view().data + 80, std::byte{}) == 80);
}

TEST_CASE("a part of a leaf goes to a target on a device") {
  zarrpoint_test::fake_device device(1);  // outlives what the checkpoint keeps of it
  const zarrpoint_test::fake_space space{&device};
  const memory_store store;
  tensor values = tensor::make({dtype_kind::float32, {3, 4}}).value();
  std::iota(values.data<float>().begin(), values.data<float>().end(), 1.0F);
  save(store, {{"w", values}}).value();
  const checkpoint opened = open(store).value();
  zarrpoint_test::device_tensor<float> there(space, {2, 2});
  opened.load_into("w", box({1, 1}, {2, 2}), there).value();
  CHECK(there.loaded());
  CHECK(there.download() == std::vector<float>{6, 7, 10, 11});
  opened.load_into("w", selection({0, 0}, {2, 2}, {2, 3}), there).value();
  CHECK(there.download() == std::vector<float>{1, 4, 9, 12});
  zarrpoint_test::device_tensor<double> wide(space, {1, 3});
  const box last({2, 1}, {1, 3});
  CHECK(opened.load_into("w", last, wide).failure().code == errc::dtype_mismatch);
  CHECK_FALSE(wide.loaded());
  opened.load_into("w", last, wide, {.cast = true}).value();
  CHECK(wide.loaded());
  CHECK(wide.download() == std::vector<double>{10, 11, 12});
  CHECK(opened.load_into("w", box({0, 0}, {2, 3}), there).failure().code == errc::shape_mismatch);
  CHECK_FALSE(there.loaded());
  CHECK(opened.load_into("w", box({2, 0}, {2, 2}), there).failure().code == errc::out_of_range);
}

TEST_CASE("a leaf of another shape goes to a device, cut or padded") {
  using zarrpoint_test::fake_space;
  const memory_store store;
  tensor values = tensor::make({dtype_kind::float32, {3, 4}}).value();
  std::iota(values.data<float>().begin(), values.data<float>().end(), 1.0F);
  save(store, {{"w", values}}).value();
  const array source = array::open(store, store_key::parse("w").value()).value();
  for (const dims& shape :
       {dims{3, 4}, dims{2, 2}, dims{5, 4}, dims{2, 6}, dims{4, 5}, dims{0, 4}}) {
    zarrpoint_test::fake_device device(1);
    const std::vector<std::size_t> extents(shape.begin(), shape.end());
    zarrpoint_test::device_tensor<float> into(fake_space{&device, device.new_stream()}, extents);
    const auto view = zarrpoint::detail::structural_handler<decltype(into)>::writable(into);
    detail::read_to_space(source, view, {}).value();
    const std::vector<float> got = into.download();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t row = i / extents[1];
      const std::size_t column = i % extents[1];
      CHECK(got[i] == (row < 3 && column < 4 ? static_cast<float>(row * 4 + column + 1) : 0.0F));
    }
  }
}

}  // namespace read_leaf_test
