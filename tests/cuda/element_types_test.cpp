// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/float8_e8m0fnu.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/cuda/element_types.hpp>
#include <zarrpoint/cuda/tensor.hpp>

#include "cuda/fixture.hpp"

#include <bit>

namespace element_types_test {

using namespace zarrpoint;

namespace {

/// Whether every pattern of bits is the same number to CUDA's host functions and to ours, and every
/// such number but the infinities, which CUDA makes finite for some types, is written alike.
template <class Theirs, class Ours>
void same_numbers() {
  static_assert(element<Theirs> && dtype_of<Theirs> == dtype_of<Ours>);
  using bits_type = std::conditional_t<sizeof(Ours) == 1, std::uint8_t, std::uint16_t>;
  for (std::uint32_t bits = 0; bits < (1U << dtype_of<Ours>.bits()); ++bits) {
    const auto theirs = std::bit_cast<Theirs>(static_cast<bits_type>(bits));
    const auto ours = std::bit_cast<Ours>(static_cast<bits_type>(bits));
    const auto a = static_cast<float>(theirs);
    const auto b = static_cast<float>(ours);
    const bool same = a == b || (a != a && b != b);
    if (!same) FAIL_CHECK(to_string(dtype_of<Ours>) << " " << bits << ": " << a << ", " << b);
    if (b - b == 0 && std::bit_cast<bits_type>(Theirs(b)) != bits)
      FAIL_CHECK(to_string(dtype_of<Ours>) << " " << bits << " is written in other bits");
  }
}

}  // namespace

TEST_CASE("the small floats of CUDA are ours, bit for bit") {
  same_numbers<__half, float16>();
  same_numbers<__nv_bfloat16, bfloat16>();
  same_numbers<__nv_fp8_e4m3, float8_e4m3fn>();
  same_numbers<__nv_fp8_e5m2, float8_e5m2>();
#if CUDART_VERSION >= 12080
  same_numbers<__nv_fp8_e8m0, float8_e8m0fnu>();
  same_numbers<__nv_fp6_e2m3, float6_e2m3fn>();
  same_numbers<__nv_fp6_e3m2, float6_e3m2fn>();
  same_numbers<__nv_fp4_e2m1, float4_e2m1fn>();
#endif
  CHECK(std::bit_cast<std::uint16_t>(__half(1.0F)) == 0x3c00);
}

TEST_CASE("they are elements of tensors on a device") {
  const zarrpoint_test::fresh_devices devices;
  const std::vector<__half> values(5, __half(0.5F));
  const auto t = zarrpoint::cuda::tensor<__half>::from_host(values, {5}).value();
  CHECK(static_cast<float>(t.download().value().back()) == 0.5F);
}

}  // namespace element_types_test
