// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/dlpack_cuda.hpp>
#include <zarrpoint/interop/dlpack/dlpack_cuda.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "cuda/fixture.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dlpack_cuda_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using device_tensor = zarrpoint::cuda::tensor<float>;
using traits = dlpack::device_traits<cuda_space>;

static_assert(savable<dlpack::cuda_tensor> && fillable<dlpack::cuda_tensor&>);

namespace {

const auto values = zarrpoint_test::counted_from(0.5F, 12);

std::vector<float> read(const dlpack::cuda_tensor& from) {
  std::vector<float> out(12);
  const auto view = from.view();
  view.space.copy_to_host(reinterpret_cast<std::byte*>(out.data()), view.data, {.width = 48})
      .value();
  view.space.synchronize().value();
  return out;
}

}  // namespace

TEST_CASE(
    "dlpack_cuda: a tensor goes out and comes back on another stream, and is saved and filled") {
  const zarrpoint_test::fresh_devices devices;
  const auto stream = zarrpoint::cuda::stream::make(1).value();
  memory_store store;
  auto made = dlpack::to_dlpack(device_tensor::from_host(values, {3, 4}, cuda_space(1)).value(),
                                stream.space())
                  .value();
  CHECK(made->dl_tensor.device.device_type == 2);
  CHECK(made->dl_tensor.device.device_id == 1);
  CHECK(made->flags == 0);
  auto taken = dlpack::cuda_tensor::take(made.release(), stream.space()).value();
  CHECK(read(taken) == values);
  save(store, {{"w", taken}}).value();
  CHECK(open(store)->load<tensor>("w")->data<float>()[11] == 11.5F);

  dlpack::cuda_tensor target =
      dlpack::cuda_tensor::take(
          dlpack::to_dlpack(device_tensor::make({3, 4}).value(), std::nullopt)->release())
          .value();
  open(store)->load_into("w", target).value();
  CHECK(read(target) == values);
}

TEST_CASE("dlpack_cuda: a wait for the device tells what failed on it") {
  const zarrpoint_test::fresh_devices devices;
  const cuda_space space(1);
  CHECK(traits::settle(space));
  std::byte* const data = space.allocate(8).value();
  zarrpoint_test::fake_cuda_device(1).fail_after(0);
  REQUIRE(space.fill(data, std::byte{1}, 8));
  const auto failed = traits::settle(space);
  CHECK(failed.failure().code == errc::device);
  CHECK(zarrpoint_test::contains(failed.failure().message, "cuda:1: wait for the device: "));
  space.deallocate(data, 8);
}

TEST_CASE("dlpack_cuda: what is on another device, on the host, or managed") {
  const zarrpoint_test::fresh_devices devices;
  const auto shared = std::make_shared<device_tensor>(
      device_tensor::from_host(values, {12}, cuda_space(1)).value());
  const auto refused = [&](dlpack::device_id said, int device) {
    auto made = dlpack::to_dlpack(shared, cuda_space(1)).value();
    made->dl_tensor.device = said;
    return dlpack::cuda_tensor::take(made.release(), cuda_space(device)).failure();
  };
  CHECK(refused({2, 1}, 0).message == "DLPack tensor on cuda:1, which is not cuda:0");
  CHECK(refused({1, 0}, 1).code == errc::unsupported);
  // It says what it is not: the runtime knows better.
  CHECK(refused({2, 0}, 0).code == errc::invalid_argument);
  CHECK(refused({13, 0}, 0).code == errc::invalid_argument);
  CHECK(shared.use_count() == 1);
  const std::vector<float> host(3);
  const dlpack::managed_ptr<> lie =
      dlpack::to_dlpack(
          dense_view(reinterpret_cast<const std::byte*>(host.data()), {dtype_kind::float32, {3}}),
          0)
          .value();
  dlpack::managed_versioned copy = *lie;
  copy.dl_tensor.device = {2, 0};
  copy.deleter = nullptr;
  CHECK(dlpack::cuda_tensor::take(&copy).failure().code == errc::invalid_argument);

  auto managed = dlpack::to_dlpack(shared, std::nullopt).value();
  managed->dl_tensor.device = {13, 7};
  CHECK(read(dlpack::cuda_tensor::take(managed.release(), cuda_space(1)).value()) == values);
}

TEST_CASE("dlpack_cuda: streams by their numbers") {
  const zarrpoint_test::fresh_devices devices;
  const auto stream = zarrpoint::cuda::stream::make(1).value();
  CHECK(traits::stream_number(cuda_space(1)) == 1);
  const std::int64_t number = traits::stream_number(stream.space());
  CHECK(number > 2);
  CHECK(traits::on_stream(cuda_space(1), number).value() == stream.space());
  CHECK(traits::on_stream(cuda_space(1), 1).value() == cuda_space(1));
  CHECK(traits::on_stream(cuda_space(1), 2).value() == std::nullopt);
  for (const std::int64_t none : {0, -1, -2})
    CHECK(traits::on_stream(cuda_space(1), none).failure().code == errc::invalid_argument);
}

TEST_CASE("dlpack_cuda: every fault on the way out is an error, and nothing is left") {
  using zarrpoint_test::device_fault;
  int failed = 0;
  for (const auto fault : {device_fault::record, device_fault::lost}) {
    for (std::uint64_t after = 0; after < 6; ++after) {
      const zarrpoint_test::fresh_devices devices({.seed = after});
      const auto stream = zarrpoint::cuda::stream::make().value();
      auto made = device_tensor::from_host(values, {12}).value();
      zarrpoint_test::fake_cuda_device().arm(fault, after);
      const auto lent = dlpack::to_dlpack(std::move(made), stream.space());
      if (lent) continue;
      ++failed;
      CHECK(lent.failure().code == errc::device);
    }
  }
  CHECK(failed > 2);

  const zarrpoint_test::fresh_devices devices;
  auto stream = zarrpoint::cuda::stream::make().value();
  const cuda_space gone = stream.space();
  stream = zarrpoint::cuda::stream();
  const auto lent = dlpack::to_dlpack(device_tensor::from_host(values, {12}).value(), gone);
  REQUIRE_FALSE(lent);
  CHECK(lent.failure().code == errc::device);
  CHECK(zarrpoint_test::contains(lent.failure().message, "is destroyed"));
}

}  // namespace dlpack_cuda_test
