// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/cuda/rmm.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "cuda/container_stand_ins.hpp"
#include "cuda/fixture.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace rmm_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using vector = zarrpoint_test::rmm_like_vector<float>;
using buffer = zarrpoint_test::rmm_like_buffer;
using handler = handler_of<vector>;

static_assert(savable<vector> && loadable<vector> && fillable<vector&> && !fillable<const vector&>);
static_assert(savable<buffer> && loadable<buffer> && fillable<buffer&>);
static_assert(zarrpoint::cuda::rmm_vector<vector> && !zarrpoint::cuda::rmm_buffer<vector>);
static_assert(zarrpoint::cuda::rmm_buffer<buffer> && !zarrpoint::cuda::rmm_vector<buffer>);
static_assert(!zarrpoint::cuda::rmm_vector<std::vector<float>>);

TEST_CASE("rmm: containers are loaded to the device and stream of their place, saved and filled") {
  const zarrpoint_test::fresh_devices devices;
  const auto stream = zarrpoint::cuda::stream::make(1).value();
  memory_store store, second;
  const auto values = zarrpoint_test::counted_from(1.0F, 300);
  save(store, {{"w", values}, {"bytes", std::as_bytes(std::span(values))}}).value();
  {
    vector made = handler::make({dtype_kind::float32, {300}}, {nullptr, stream.space()}).value();
    CHECK(made.stream().value() == stream.get());
    CHECK(handler::view(made).space == stream.space());
    open(store)->load_into("w", made).value();
    buffer bytes =
        handler_of<buffer>::make({dtype_kind::uint8, {1200}}, {nullptr, stream.space()}).value();
    open(store)->load_into("bytes", bytes).value();
    save(second, {{"w", made}, {"bytes", bytes}}).value();
  }
  CHECK(open(second)->load<std::vector<float>>("w").value() == values);
  const auto bytes = open(second)->load<std::vector<std::uint8_t>>("bytes").value();
  CHECK(std::memcmp(bytes.data(), values.data(), 1200) == 0);
  CHECK(open(second)->load<vector>("w")->size() == 300);
  buffer small(7, nullptr);
  CHECK(open(second)->load_into("bytes", small).failure().code == errc::shape_mismatch);
}

TEST_CASE("rmm: what cannot be made is an error") {
  const zarrpoint_test::fresh_devices devices({.capacity = 4096});
  CHECK(handler::make({dtype_kind::float32, {1 << 20}}, {}).failure().code == errc::resource_limit);
  CHECK(handler::make({dtype_kind::float64, {2}}, {}).failure().code == errc::dtype_mismatch);
  CHECK(handler::make({dtype_kind::float32, {}}, {}).failure().code == errc::shape_mismatch);
}

}  // namespace rmm_test
