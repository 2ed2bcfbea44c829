// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/scratch_pool.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace scratch_tensor_test { namespace {

using namespace zarrpoint;

TEST_CASE("numbers lie in the scratch memory of the workspace") {
  limited_resource budget(1 << 20);
  codec_workspace scratch(budget);
  auto made = detail::scratch_tensor::make({dtype_kind::int32, {2, 3}}, scratch, 1).value();
  CHECK(made.view().spec() == tensor_spec{dtype_kind::int32, {2, 3}});
  CHECK(is_dense(made.view()));
  CHECK(budget.in_use() == 24);
}

TEST_CASE("strings are objects, and end with the tensor") {
  codec_workspace scratch;
  auto first = detail::scratch_tensor::make({dtype_kind::string, {3}}, scratch, 1).value();
  auto* texts = reinterpret_cast<std::string*>(first.view().data);
  CHECK(texts[2].empty());
  texts[0] = "a text that is too long for the small-string optimisation";  // leaks are reported
  const detail::scratch_tensor moved = std::move(first);
  CHECK(texts[0].size() > 40);
  CHECK(moved.view().shape == dims{3});
}

TEST_CASE("a shape that no memory holds is an error") {
  limited_resource budget(1000);
  codec_workspace scratch(budget);
  const index_t huge = index_t{1} << 40;
  const auto overflow =
      detail::scratch_tensor::make({dtype_kind::string, {huge, huge}}, scratch, 1);
  REQUIRE_FALSE(overflow);
  CHECK(overflow.failure().code == errc::out_of_range);
  const auto large = detail::scratch_tensor::make({dtype_kind::string, {huge}}, scratch, 1);
  REQUIRE_FALSE(large);
  CHECK(large.failure().code == errc::resource_limit);
}

}}  // namespace scratch_tensor_test
