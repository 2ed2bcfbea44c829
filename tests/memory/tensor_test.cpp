// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tensor_test {

namespace zp = zarrpoint;

TEST_CASE("tensor: dense and aligned, every dtype and the empty ones") {
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    for (const zp::dims& shape : {zp::dims{}, zp::dims{0}, zp::dims{3, 4}, zp::dims{2, 0, 5}}) {
      const zp::tensor_spec spec{kind, shape};
      CAPTURE(zp::to_string(spec));
      zp::tensor tensor = zp::tensor::make(spec).value();
      CHECK(tensor.spec() == spec);
      CHECK(tensor.type() == zp::dtype(kind));
      CHECK(tensor.shape() == shape);
      CHECK(tensor.rank() == shape.rank());
      CHECK(tensor.size() == static_cast<std::size_t>(zp::element_count(shape).value()));
      CHECK(zp::is_dense(tensor.view()));
      CHECK(tensor.view().data == tensor.mutable_view().data);
      CHECK(reinterpret_cast<std::uintptr_t>(tensor.view().data) % 64 == 0);
    }
  }
}

TEST_CASE("tensor: its elements are the memory of its views") {
  zp::tensor tensor = zp::tensor::make({zp::dtype_kind::bfloat16, {2, 3}}).value();
  for (int i = 0; i < 6; ++i)
    tensor.data<zp::bfloat16>()[static_cast<std::size_t>(i)] = zp::bfloat16(i);
  const zp::host_view view =
      zp::as_const(zp::subview(tensor.mutable_view(), zp::box{{1, 2}, {1, 1}}));
  CHECK(*reinterpret_cast<const zp::bfloat16*>(view.data) == 5.0F);
  CHECK(std::as_const(tensor).data<zp::bfloat16>().size() == 6);
}

TEST_CASE("tensor: strings are made empty, live in it and are destroyed") {
  zp::limited_resource resource(1000);
  {
    zp::tensor tensor = zp::tensor::make({zp::dtype_kind::string, {2, 2}}, resource).value();
    CHECK(resource.in_use() == 4 * sizeof(std::string));
    for (std::string& text : tensor.data<std::string>()) {
      CHECK(text.empty());
      text = "long enough to need memory of its own, which must be freed";
    }
    zp::tensor other = std::move(tensor);
    CHECK(other.data<std::string>().size() == 4);
    CHECK(tensor.size() == 0);  // NOLINT(bugprone-use-after-move): moved-from means empty
    other = zp::tensor::make({zp::dtype_kind::int8, {7}}, resource).value();
    CHECK(other.size() == 7);
  }
  CHECK(resource.in_use() == 0);
}

TEST_CASE("tensor: what cannot be made is an error that names it") {
  zp::limited_resource resource(100);
  const auto refused = zp::tensor::make({zp::dtype_kind::float32, {26}}, resource);
  REQUIRE(!refused);
  CHECK(refused.failure().code == zp::errc::resource_limit);
  CHECK(
      refused.failure().message ==
      "tensor float32[26]: cannot allocate 104 bytes: 0 of the 100 bytes of the budget are in use");

  const zp::index_t many = zp::index_t{1} << 40;
  const auto overflow = zp::tensor::make({zp::dtype_kind::uint8, {many, many}});
  REQUIRE(!overflow);
  CHECK(overflow.failure().code == zp::errc::out_of_range);
  const auto too_many_strings = zp::tensor::make({zp::dtype_kind::string, {many, 1 << 20}});
  REQUIRE(!too_many_strings);
  CHECK(too_many_strings.failure().code == zp::errc::out_of_range);
  CHECK(zp::tensor::make({zp::dtype_kind::int8, {-1}}).failure().code == zp::errc::out_of_range);
  CHECK(zp::tensor::make({}).failure().code == zp::errc::invalid_argument);
}

TEST_CASE("elements of C++ get a shape by a view") {
  const std::vector<float> w{1, 2, 3, 4, 5, 6};
  const zp::host_view view = zp::dense_view(w.data(), {2, 3});
  CHECK(view.spec() == zp::tensor_spec{zp::dtype_kind::float32, {2, 3}});
  CHECK(view.strides == zp::dims{12, 4});
  CHECK(view.data == reinterpret_cast<const std::byte*>(w.data()));
}

}  // namespace tensor_test
