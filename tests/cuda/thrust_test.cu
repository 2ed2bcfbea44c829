// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The handlers of cuda/thrust.hpp with Thrust itself. Ends with 77 where there is no device.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/devices.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/thrust.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>
#include <thrust/universal_vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <string>
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

/// What `load` and `save` ask of the handler: a vector is made and filled, then read.
template <class Vector>
zp::result<void> through_the_handler() {
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

template <class Vector>
zp::result<void> expect_values(const Vector& found, const std::vector<float>& values,
                               const char* what) {
  const thrust::host_vector<typename Vector::value_type> host(found);
  if (std::equal(host.begin(), host.end(), values.begin(), values.end())) return {};
  return zp::error{zp::errc::corrupt, std::string(what) + ": Thrust has other values"};
}

/// A vector that a kernel of Thrust has filled is saved, loaded as a vector, and into another one;
/// one without elements, too.
template <class Vector>
zp::result<void> there_and_back(std::size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 1.0F);
  Vector source(size);
  thrust::sequence(source.begin(), source.end(), 1);
  zp::memory_store store;
  ZARRPOINT_TRY(report, zp::save(store, {{"w", source}}));
  static_cast<void>(report);
  ZARRPOINT_TRY(saved, zp::open(store));
  ZARRPOINT_TRY(on_host, saved.template load<std::vector<typename Vector::value_type>>("w"));
  if (!std::equal(on_host.begin(), on_host.end(), values.begin(), values.end()))
    return zp::error{zp::errc::corrupt, "save: other values are stored"};
  ZARRPOINT_TRY(loaded, saved.template load<Vector>("w"));
  ZARRPOINT_CHECK(expect_values(loaded, values, "load"));
  Vector target(size);
  ZARRPOINT_CHECK(saved.load_into("w", target));
  ZARRPOINT_CHECK(expect_values(target, values, "load_into"));
  Vector longer(size + 1);
  if (const auto refused = saved.load_into("w", longer);
      refused || refused.failure().code != zp::errc::shape_mismatch)
    return zp::error{zp::errc::corrupt, "load_into: a vector of another size was taken"};
  return {};
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("thrust_test: left out, since there is no CUDA device\n");
    return 77;
  }
  // Several slots of the ring, with a last one that is not full; a part of one; nothing.
  constexpr std::size_t many = 9 * 1024 * 1024 + 3;
  for (const auto& done :
       {through_the_handler<device_vector>(), through_the_handler<universal_vector>(),
        there_and_back<device_vector>(many), there_and_back<universal_vector>(1000),
        there_and_back<device_vector>(0)}) {
    if (done) continue;
    std::printf("thrust_test: %s\n", zp::to_string(done.failure()).c_str());
    return 1;
  }
  return 0;
}
