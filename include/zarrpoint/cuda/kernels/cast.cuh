// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/cast.hpp>
#include <zarrpoint/cuda/kernels/launch.cuh>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

template <class To, class From>
__global__ void __launch_bounds__(block_threads)
    cast_kernel(std::byte* to, const std::byte* from, std::uint64_t count) {
  cast_directly<To, From>(to, from, count, this_place());
}
template <class Wide>
__global__ void __launch_bounds__(block_threads)
    wide_cast_kernel(const __grid_constant__ wide_cast job) {
  cast_by_way_of<Wide>(job, this_place());
}

using direct_cast = void (*)(std::byte*, const std::byte*, std::uint64_t);

/// One of the kernels that need no wide type, with the elements that a thread takes at once.
struct cast_choice {
  direct_cast kernel = nullptr;
  std::size_t group = 1;
};

template <class To, class From>
constexpr cast_choice cast_choice_of() {
  if constexpr (std::same_as<To, From>) {
    return {};  // copied
  } else {
    return {cast_kernel<To, From>, cast_group<To, From>};
  }
}

/// From `From` to one of the others that networks are stored in and computed with.
template <class From>
cast_choice choose_cast_to(dtype_kind to) {
  if constexpr (sizeof(From) == 2 || sizeof(From) == 4) {
    if (to == dtype_kind::float8_e4m3fn) return cast_choice_of<float8_e4m3fn, From>();
    if (to == dtype_kind::float8_e5m2) return cast_choice_of<float8_e5m2, From>();
  }
  switch (to) {
    case dtype_kind::float32: return cast_choice_of<float, From>();
    case dtype_kind::float16: return cast_choice_of<float16, From>();
    case dtype_kind::bfloat16: return cast_choice_of<bfloat16, From>();
    default: return {};
  }
}

inline cast_choice choose_cast(dtype_kind to, dtype_kind from) {
  switch (from) {
    case dtype_kind::float32: return choose_cast_to<float>(to);
    case dtype_kind::bfloat16: return choose_cast_to<bfloat16>(to);
    case dtype_kind::float16: return choose_cast_to<float16>(to);
    case dtype_kind::float8_e4m3fn: return choose_cast_to<float8_e4m3fn>(to);
    case dtype_kind::float8_e5m2: return choose_cast_to<float8_e5m2>(to);
    case dtype_kind::float64: return choose_cast_to<double>(to);
    default: return {};
  }
}

/// See `kernel_table`.
inline cudaError_t cast(cudaStream_t stream, const device_cast& conversion) {
  const dtype& to = conversion.to_type;
  const dtype& from = conversion.from_type;
  const std::uint64_t count = conversion.count;
  if (!from.castable_to(to) || !to.valid() || to.is_variable()) return cudaErrorInvalidValue;
  if (count == 0) return cudaSuccess;
  if (to == from) return copy_bytes(stream, conversion.to, conversion.from, to.size() * count);
  if (const cast_choice choice = choose_cast(to.kind(), from.kind()); choice.kernel != nullptr)
    return launch(choice.kernel, blocks_for(divide_up(count, choice.group)), stream, conversion.to,
                  conversion.from, count);
  const wide_cast job = make_wide_cast(conversion);
  switch (wide_kind_of(from)) {
    case wide_kind::int64:
      return launch(wide_cast_kernel<std::int64_t>, blocks_for(count), stream, job);
    case wide_kind::uint64:
      return launch(wide_cast_kernel<std::uint64_t>, blocks_for(count), stream, job);
    case wide_kind::float32: return launch(wide_cast_kernel<float>, blocks_for(count), stream, job);
    default: return launch(wide_cast_kernel<double>, blocks_for(count), stream, job);
  }
}

}}}  // namespace zarrpoint::v0::cuda::detail
