// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/torch/torch_dtype.hpp>

#include <doctest/doctest.h>

TEST_CASE("torch_dtype: the names of types and storages, both ways") {
  using namespace zarrpoint;
  int named = 0, typed = 0;
  for (const dtype_kind kind : all_dtype_kinds) {
    if (const auto name = torch::dtype_name(kind)) {
      ++named;
      CHECK(torch::dtype_named(*name) == dtype(kind));
    }
    if (const auto name = torch::storage_name(kind)) {
      ++typed;
      CHECK(torch::storage_named(*name) == dtype(kind));
      CHECK(torch::dtype_name(kind));
    }
  }
  CHECK(named == 21);
  CHECK(typed == 13);
  CHECK(torch::dtype_named("complex32") == dtype(dtype_kind::complex_float16));
  CHECK(torch::storage_name(dtype_kind::bfloat16) == "BFloat16Storage");
  CHECK_FALSE(torch::dtype_named("string"));
  CHECK_FALSE(torch::dtype_named(""));
  CHECK_FALSE(torch::storage_named("QInt8Storage"));
}
