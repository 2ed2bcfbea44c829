// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/array/device/device_values.hpp>
#include <zarrpoint/array/value_transfer.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"
#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace value_transfer_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

using numbers = std::vector<std::int32_t>;

/// The numbers from 0 in an array of {4, 4}, in four chunks.
array square(const context& how = context{}) {
  array made = array::create(memory_store(), key_of("w"),
                             raw_metadata(dtype_kind::int32, {4, 4}, {2, 2}), how)
                   .value();
  numbers all(16);
  std::iota(all.begin(), all.end(), 0);
  made.write(box::whole({4, 4}), all).value();
  return made;
}

/// An array-like of two dimensions.
struct matrix {
  using value_type = std::int32_t;
  numbers values;
  std::array<std::size_t, 2> extents{};
  bool whole = true;

  const std::array<std::size_t, 2>& shape() const { return extents; }
  const std::int32_t* data() const { return values.data(); }
  std::int32_t* data() { return values.data(); }
  void mark_loaded(bool loaded) { whole = loaded; }
};

template <class T>
void check_failure(const result<T>& status, errc code, const std::string& text) {
  REQUIRE_FALSE(status);
  CHECK(status.failure().code == code);
  INFO(status.failure().message);
  CHECK(status.failure().message.find(text) != std::string::npos);
  CHECK(status.failure().message.starts_with("array memory:w: "));
}

TEST_CASE("a part is read into flat targets, array-likes and views") {
  const array w = square();
  const box part({1, 1}, {2, 3});
  numbers flat(6);
  w.read(part, flat).value();
  CHECK(flat == numbers{5, 6, 7, 9, 10, 11});
  std::array<std::int32_t, 6> fixed{};
  w.read(part, std::span(fixed)).value();
  CHECK(fixed[5] == 11);
  std::int32_t plain[2][3];
  w.read(part, plain).value();
  CHECK(plain[1][0] == 9);
  matrix rows{numbers(6), {2, 3}};
  w.read(part, rows).value();
  CHECK(rows.values == flat);
  CHECK(rows.whole);
  tensor own = tensor::make({dtype_kind::int32, {2, 2}}).value();
  w.read(selection({0, 0}, {2, 2}, {2, 3}), own).value();
  CHECK(own.data<std::int32_t>()[3] == 11);
  // A view is taken as before, named or not, and so are options.
  mutable_host_view view = own.mutable_view();
  w.read(box({2, 2}, {2, 2}), view).value();
  CHECK(own.data<std::int32_t>()[0] == 10);
  read_options options;
  CHECK(w.read(part, options).value().shape() == dims{2, 3});
}

TEST_CASE("a part is read as another type where a cast is allowed") {
  const array w = square();
  std::vector<double> wide(2);
  check_failure(w.read(box({0, 1}, {1, 2}), wide), errc::dtype_mismatch, "float64");
  w.read(box({0, 1}, {1, 2}), wide, {.cast = true}).value();
  CHECK(wide == std::vector<double>{1, 2});
}

TEST_CASE("what does not fit the part is refused, and says so to the target") {
  const array w = square();
  numbers five(5);
  check_failure(w.read(box({1, 1}, {2, 3}), five), errc::shape_mismatch, "[2, 3]");
  matrix other{numbers(6), {3, 2}};
  check_failure(w.read(box({1, 1}, {2, 3}), other), errc::shape_mismatch, "[3, 2]");
  CHECK_FALSE(other.whole);
  numbers beyond(16);
  check_failure(w.read(box({1, 0}, {4, 4}), beyond), errc::out_of_range,
                "reaches beyond the array");
  check_failure(w.read(box({0}, {16}), beyond), errc::invalid_argument, "rank");
  check_failure(w.write(box({1, 1}, {2, 3}), five), errc::shape_mismatch, "[2, 3]");
  check_failure(w.write(box({1, 1}, {2, 3}), other), errc::shape_mismatch, "[3, 2]");
  check_failure(w.write(box({1, 0}, {4, 4}), beyond), errc::out_of_range,
                "reaches beyond the array");
  check_failure(w.write(box({0, 0}, {2, 2}), tensor()), errc::invalid_argument,
                "the tensor is empty");
}

TEST_CASE("a part is written from flat values, array-likes and views") {
  const array w = square();
  const box part({1, 1}, {2, 3});
  w.write(part, numbers{-1, -2, -3, -4, -5, -6}).value();
  const std::array<std::int32_t, 2> corner{70, 71};
  w.write(box({0, 0}, {1, 2}), std::span(corner)).value();
  w.write(selection({3, 0}, {1, 2}, {1, 3}), matrix{{80, 81}, {1, 2}}).value();
  const tensor all = w.read(box::whole({4, 4})).value();
  const auto found = all.data<std::int32_t>();
  CHECK(numbers(found.begin(), found.end()) ==
        numbers{70, 71, 2, 3, 4, -1, -2, -3, 8, -4, -5, -6, 80, 13, 14, 81});
  const std::vector<float> other(6);
  check_failure(w.write(part, other), errc::dtype_mismatch, "float32");
  w.write(part, other, {.cast = true}).value();
}

TEST_CASE("strings go in and out") {
  auto metadata = raw_metadata(dtype_kind::string, {3}, {2});
  metadata.codecs = {{"vlen-utf8", json()}};
  metadata.fill = fill_value::zero(dtype_kind::string);
  const array w = array::create(memory_store(), key_of("w"), metadata).value();
  w.write(box({0}, {2}), std::vector<std::string>{"one", "two"}).value();
  std::vector<std::string> back(3);
  w.read(box({0}, {3}), back).value();
  CHECK(back == std::vector<std::string>{"one", "two", ""});
}

TEST_CASE("a part goes to a device, and comes from one") {
  fake_device device(1);
  const fake_space space{&device};
  const array w = square();
  device_tensor<std::int32_t> there(space, {2, 2});
  w.read(box({1, 1}, {2, 2}), there).value();
  CHECK(there.loaded());
  CHECK(there.download() == numbers{5, 6, 9, 10});
  w.write(box({0, 2}, {2, 2}), there).value();
  numbers back(4);
  w.read(box({0, 2}, {2, 2}), back).value();
  CHECK(back == numbers{5, 6, 9, 10});
  there.resize({4, 1});
  check_failure(w.read(box({1, 1}, {2, 2}), there), errc::shape_mismatch, "[4, 1]");
}

TEST_CASE("arrays and groups have the threads of the default context unless another is named") {
  const memory_store store;
  const auto metadata = raw_metadata(dtype_kind::int32, {4}, {2});
  const unsigned most = default_context().executor.concurrency();
  const auto threads = [](const array& of) { return of.default_context().executor.concurrency(); };
  CHECK(threads(array::create(store, key_of("w"), metadata).value()) == most);
  CHECK(threads(array::open(store, key_of("w")).value()) == most);
  CHECK(threads(array::from_metadata(store, key_of("w"), metadata).value()) == most);
  CHECK(threads(array::open(store, key_of("w"), context{}).value()) == 1);
  const group root = group::create(store).value();
  CHECK(threads(root.open_array("w").value()) == most);
  CHECK(threads(group::open(store).value().open_array("w").value()) == most);
  CHECK(threads(root.create_array("v", metadata).value()) == most);
}

}}  // namespace value_transfer_test
