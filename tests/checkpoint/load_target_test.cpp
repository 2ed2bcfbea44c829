// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/load_into_all.hpp>

#include <doctest/doctest.h>

#include <span>
#include <vector>

namespace load_target_test {

using namespace zarrpoint;

TEST_CASE("variables are borrowed, views are kept") {
  std::vector<float> values(6);
  const load_target variable("a", values);
  CHECK(variable.name() == "a");
  CHECK(variable.bound().target == &values);
  const load_target copy = load_target("b", std::span(values).subspan(2));
  mutable_host_view view;
  REQUIRE(copy.bound().table->peek(copy.bound().target, &view));
  CHECK(view.data == reinterpret_cast<std::byte*>(values.data() + 2));
  CHECK(view.shape == dims{4});
  REQUIRE(copy.bound().table->view(copy.bound().target, {dtype_kind::float32, {2, 2}}, &view));
  CHECK(view.shape == dims{2, 2});
  CHECK(copy.bound()
            .table->view(copy.bound().target, {dtype_kind::float32, {5}}, &view)
            .failure()
            .code == errc::shape_mismatch);
}

TEST_CASE("targets of one memory space share the function that loads them") {
  std::vector<float> values(6);
  tensor other = tensor::make({dtype_kind::int8, {2}}).value();
  const load_target a("a", values);
  const load_target b("b", other);
  CHECK(a.bound().table != b.bound().table);
  CHECK((a.bound().table->load == b.bound().table->load));
}

TEST_CASE("a target that is refused gives no view") {
  tensor empty;
  const load_target refused("a", empty);
  mutable_host_view view;
  CHECK_FALSE(refused.bound().table->peek(refused.bound().target, &view));
}

}  // namespace load_target_test
