// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/dlpack/dlpack_abi.hpp>

#include <doctest/doctest.h>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif

#include <cstddef>

namespace dlpack_abi_test {

using namespace zarrpoint;

#if __has_include(<dlpack/dlpack.h>)
static_assert(sizeof(dlpack::raw_tensor) == sizeof(DLTensor));
static_assert(offsetof(dlpack::raw_tensor, device) == offsetof(DLTensor, device));
static_assert(offsetof(dlpack::raw_tensor, ndim) == offsetof(DLTensor, ndim));
static_assert(offsetof(dlpack::raw_tensor, dtype) == offsetof(DLTensor, dtype));
static_assert(offsetof(dlpack::raw_tensor, shape) == offsetof(DLTensor, shape));
static_assert(offsetof(dlpack::raw_tensor, strides) == offsetof(DLTensor, strides));
static_assert(offsetof(dlpack::raw_tensor, byte_offset) == offsetof(DLTensor, byte_offset));
static_assert(sizeof(dlpack::managed_legacy) == sizeof(DLManagedTensor));
static_assert(offsetof(dlpack::managed_legacy, deleter) == offsetof(DLManagedTensor, deleter));
static_assert(static_cast<int>(dlpack::device_kind::cuda_host) == kDLCUDAHost);
static_assert(static_cast<int>(dlpack::device_kind::cuda_managed) == kDLCUDAManaged);
static_assert(static_cast<int>(dlpack::detail::code_bfloat) == kDLBfloat);
static_assert(static_cast<int>(dlpack::detail::code_complex) == kDLComplex);
#endif

TEST_CASE("dlpack_abi: types both ways") {
  int named = 0;
  for (const dtype_kind kind : all_dtype_kinds) {
    const auto type = dlpack::type_of(kind);
    if (!type) continue;
    ++named;
    CHECK(type->bits == 8 * dtype(kind).size());
    CHECK(dlpack::to_dtype(*type).value() == dtype(kind));
  }
  CHECK(named == 24);
  CHECK(dlpack::type_of(dtype_kind::bfloat16) == dlpack::data_type{4, 16, 1});
  CHECK(dlpack::type_of(dtype_kind::bool_) == dlpack::data_type{6, 8, 1});
  CHECK(dlpack::type_of(dtype_kind::complex64) == dlpack::data_type{5, 64, 1});
  CHECK(dlpack::type_of(dtype_kind::float8_e4m3fn) == dlpack::data_type{10, 8, 1});
  for (const dtype& type : {dtype(), dtype(dtype_kind::string), dtype(dtype_kind::int4),
                            dtype(dtype_kind::float4_e2m1fn), dtype(dtype_kind::complex_bfloat16),
                            dtype::raw_bytes(4), dtype::datetime(time_unit::ns)})
    CHECK_FALSE(dlpack::type_of(type));
}

TEST_CASE("dlpack_abi: types that are none of ours are named") {
  const dlpack::data_type odd[] = {{0, 4, 1},  {1, 1, 1},  {2, 8, 1},  {2, 128, 1}, {3, 64, 1},
                                   {2, 32, 4}, {2, 32, 0}, {17, 4, 2}, {6, 1, 1},   {255, 255, 1}};
  for (const dlpack::data_type& type : odd)
    CHECK(dlpack::to_dtype(type).failure().code == errc::unsupported);
  CHECK(dlpack::to_dtype({2, 32, 4}).failure().message ==
        "no dtype is the DLPack type with code 2, 32 bits, 4 lanes");
}

TEST_CASE("dlpack_abi: devices by name") {
  CHECK(dlpack::to_string(dlpack::device_id{1, 0}) == "cpu:0");
  CHECK(dlpack::to_string(dlpack::device_id{2, 7}) == "cuda:7");
  CHECK(dlpack::to_string(dlpack::device_id{-5, -1}) == "device of type -5:-1");
  for (int kind : {3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18})
    CHECK(dlpack::to_string(dlpack::device_id{kind, 0}).find("type") == std::string::npos);
}

}  // namespace dlpack_abi_test
