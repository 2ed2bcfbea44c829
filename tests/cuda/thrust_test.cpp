// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/cuda/thrust.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "cuda/container_stand_ins.hpp"
#include "cuda/fixture.hpp"

#include <vector>

namespace thrust_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using vector = zarrpoint_test::thrust_like_vector<float>;
using handler = handler_of<vector>;

static_assert(savable<vector> && loadable<vector> && fillable<vector&> && !fillable<const vector&>);
static_assert(!zarrpoint::cuda::thrust_vector<std::vector<float>>);
static_assert(!zarrpoint::cuda::thrust_vector<float>);
static_assert(!savable<zarrpoint_test::thrust_like_vector<char*>>);

TEST_CASE("thrust: a vector is loaded to the device of its place, saved from there, and filled") {
  const zarrpoint_test::fresh_devices devices;
  memory_store store, second;
  const auto values = zarrpoint_test::counted_from(1.0F, 500);
  save(store, {{"w", values}}).value();
  {
    vector made = handler::make({dtype_kind::float32, {500}}, {nullptr, cuda_space(1)}).value();
    CHECK(handler::view(made).space.device() == 1);
    open(store)->load_into("w", made).value();
    save(second, {{"w", made}}).value();
  }
  CHECK(open(second)->load<std::vector<float>>("w").value() == values);
  vector loaded = open(second)->load<vector>("w").value();
  CHECK(handler::spec(loaded).shape == dims{500});
  // A target of rank 1 takes any shape of as many elements.
  save(store,
       {{"w", dense_view(reinterpret_cast<const std::byte*>(values.data()),
                         {dtype_kind::float32, {20, 25}})}},
       {.overwrite = true})
      .value();
  open(store)->load_into("w", loaded).value();
  vector small(499);
  CHECK(open(store)->load_into("w", small).failure().code == errc::shape_mismatch);
}

TEST_CASE("thrust: what cannot be made is an error") {
  const zarrpoint_test::fresh_devices devices({.capacity = 4096});
  CHECK(handler::make({dtype_kind::float32, {1 << 20}}, {}).failure().code == errc::resource_limit);
  CHECK(handler::make({dtype_kind::float64, {2}}, {}).failure().code == errc::dtype_mismatch);
  CHECK(handler::make({dtype_kind::float32, {2, 2}}, {}).failure().code == errc::shape_mismatch);
  CHECK(handler::view(vector(0)).data == nullptr);
}

}  // namespace thrust_test
