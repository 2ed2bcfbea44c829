// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/tensor.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

namespace tensor_test {

using namespace zarrpoint;

static_assert(loadable<tensor> && fillable<tensor&> && !fillable<const tensor&>);

TEST_CASE("a tensor is made of any dtype and shape, in the memory of the place") {
  limited_resource budget(4096);
  const place<host_space> here{.resource = &budget};
  for (const dtype_kind kind : all_dtype_kinds) {
    const tensor_spec stored{kind, {2, 3}};
    result<tensor> made = handler_of<tensor>::make(stored, here);
    REQUIRE(made);
    CHECK(budget.in_use() == 6 * memory_size(kind));
    CHECK(handler_of<tensor>::spec(*made).value() == stored);
    CHECK(handler_of<tensor>::writable(*made).data == handler_of<tensor>::view(*made).data);
  }
  CHECK(budget.in_use() == 0);
  const auto refused = handler_of<tensor>::make({dtype_kind::float64, {1024}}, here);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(handler_of<tensor>::make({dtype_kind::float64, {1024}}, {}));  // without a budget
}

TEST_CASE("an empty tensor describes nothing") {
  CHECK(result<tensor_spec>(handler_of<tensor>::spec(tensor())).failure().code ==
        errc::invalid_argument);
}

TEST_CASE("a tensor as a target has a shape of its own") {
  tensor target = tensor::make({dtype_kind::float32, {2, 3}}).value();
  CHECK(detail::target_view(target, {dtype_kind::float32, {2, 3}}));
  CHECK(detail::target_view(target, {dtype_kind::float32, {6}}).failure().code ==
        errc::shape_mismatch);
}

}  // namespace tensor_test
