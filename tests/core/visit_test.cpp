// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/visit.hpp>

#include <doctest/doctest.h>

namespace visit_test {

namespace zp = zarrpoint;

TEST_CASE("visit_dtype: calls with the type that stands for the dtype, for all numbers") {
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    const zp::dtype type(kind);
    if (!type.is_number()) continue;
    CHECK(zp::visit_dtype(type, []<class T>() { return zp::dtype_of<T>; }) == type);
    CHECK(zp::visit_dtype(type, []<zp::element T>() { return sizeof(T); }) == type.size());
  }
}

}  // namespace visit_test
