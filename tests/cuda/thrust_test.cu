// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The handlers of cuda/thrust.hpp with Thrust itself. Ends with 77 where there is no device.

#include <zarrpoint/cuda/thrust.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/universal_vector.h>

#include <cstdio>
#include <vector>

namespace zp = zarrpoint;

using device_vector = thrust::device_vector<float>;
using universal_vector = thrust::universal_vector<double>;

static_assert(zp::savable<device_vector> && zp::loadable<device_vector> &&
              zp::fillable<device_vector&> && !zp::fillable<const device_vector&>);
static_assert(zp::savable<universal_vector> && zp::loadable<universal_vector> &&
              zp::fillable<universal_vector&>);
static_assert(!zp::cuda::thrust_vector<thrust::host_vector<float>>);

namespace {

/// What `load` and `save` do with a vector: one is made and filled, then read.
template <class Vector>
zp::result<void> there_and_back() {
  using value_type = typename Vector::value_type;
  using handler = zp::handler_of<Vector>;
  std::vector<value_type> values(1000), read(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<value_type>(i) / 2;
  const zp::row_block all{values.size() * sizeof(value_type)};
  ZARRPOINT_TRY(made, handler::make({handler::type, {1000}}, {}));
  const auto target = handler::writable(made);
  ZARRPOINT_CHECK(target.space.check(target.data, all.width));
  ZARRPOINT_CHECK(target.space.copy_from_host(
      target.data, reinterpret_cast<const std::byte*>(values.data()), all));
  ZARRPOINT_CHECK(target.space.synchronize());
  if (thrust::host_vector<value_type>(made) != values)
    return zp::error{zp::errc::corrupt, "Thrust has other values"};
  const auto view = handler::view(made);
  ZARRPOINT_CHECK(
      view.space.copy_to_host(reinterpret_cast<std::byte*>(read.data()), view.data, all));
  ZARRPOINT_CHECK(view.space.synchronize());
  if (read != values) return zp::error{zp::errc::corrupt, "other values came back"};
  return {};
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("thrust_test: left out, since there is no CUDA device\n");
    return 77;
  }
  for (const auto& done : {there_and_back<device_vector>(), there_and_back<universal_vector>()}) {
    if (done) continue;
    std::printf("thrust_test: %s\n", zp::to_string(done.failure()).c_str());
    return 1;
  }
  return 0;
}
