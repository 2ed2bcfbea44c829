// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <doctest/doctest.h>

namespace tensor_spec_test {

namespace zp = zarrpoint;

TEST_CASE("tensor_spec: text, equality and size") {
  const zp::tensor_spec spec{zp::dtype_kind::float32, {3, 4}};
  CHECK(zp::to_string(spec) == "float32[3, 4]");
  CHECK(zp::to_string(zp::tensor_spec{}) == "invalid[]");
  CHECK(zp::byte_count(spec).value() == 48);
  CHECK(zp::byte_count(zp::tensor_spec{zp::dtype_kind::string, {3, 4}}).value() == 0);
  CHECK(spec == zp::tensor_spec{zp::dtype_kind::float32, {3, 4}});
  CHECK(spec != zp::tensor_spec{zp::dtype_kind::int32, {3, 4}});
  CHECK(spec != zp::tensor_spec{zp::dtype_kind::float32, {4, 3}});
}

}  // namespace tensor_spec_test
