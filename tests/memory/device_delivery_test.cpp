// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/device_delivery.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include "support/fake_device.hpp"
#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace device_delivery_test {

using namespace zarrpoint;
using namespace zarrpoint_test;
using ring = staging_ring<fake_space>;

namespace {

/// A matrix of 32 x 16 int32 that goes to a device, transposed there.
struct transposed {
  fake_device device;
  fake_space space{&device, 0};
  std::byte* memory;
  mutable_tensor_view<fake_space> view;

  explicit transposed(std::size_t capacity = std::size_t{1} << 20)
      : device(1, capacity), memory(device.allocate(2048)) {
    view = {memory, dtype_kind::int32, {32, 16}, {4, 128}, space, {}};
  }
  ~transposed() { device.free(memory); }

  static std::vector<std::int32_t> values() {
    std::vector<std::int32_t> out(512);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(i * i);
    return out;
  }
  /// What is there by now, in row-major order.
  std::vector<std::int32_t> download() const {
    std::vector<std::int32_t> there(512);
    space.copy_to_host(reinterpret_cast<std::byte*>(there.data()), memory, {.width = 2048}).value();
    wait_for_stream(space).value();
    std::vector<std::int32_t> out(512);
    for (std::size_t i = 0; i < 32; ++i)
      for (std::size_t j = 0; j < 16; ++j) out[i * 16 + j] = there[j * 32 + i];
    return out;
  }
};

result<void> deliver_values(const detail::device_delivery<fake_space>& delivery) {
  const std::vector<std::int32_t> values = transposed::values();
  return delivery.deliver(
      box::whole({32, 16}), dtype_kind::int32, [&](const mutable_host_view& to) -> result<void> {
        copy_elements(to, dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                     {dtype_kind::int32, {32, 16}}));
        return {};
      });
}

}  // namespace

TEST_CASE("a kernel rearranges; the host does where there is none, or no memory for it") {
  for (const int way : {0, 1, 2}) {
    // For the third the device is all but full.
    transposed matrix(way == 2 ? 2500 : std::size_t{1} << 20);
    matrix.device.set_kernels(way != 1);
    const detail::device_delivery<fake_space> delivery(
        matrix.view, std::make_shared<ring>(matrix.space, ring_options{2, 4096}));
    deliver_values(delivery).value();
    CHECK(matrix.download() == transposed::values());
    CHECK(matrix.device.count().kernels.move == (way == 0 ? 1 : 0));
    CHECK(matrix.device.live_allocations() == 1);
  }
}

TEST_CASE("an error of the one who fills is handed on, and the slot comes back") {
  transposed matrix;
  const auto slots = std::make_shared<ring>(matrix.space, ring_options{1, 4096});
  const detail::device_delivery<fake_space> delivery(matrix.view, slots);
  const result<void> refused = delivery.deliver(box::whole({32, 16}), dtype_kind::int32,
                                                [](const mutable_host_view&) -> result<void> {
                                                  return error{errc::corrupt, "no values"};
                                                });
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message == "no values");
  CHECK(matrix.device.copies() == 0);
  CHECK(matrix.device.live_allocations() == 1);
  deliver_values(delivery).value();
  CHECK(matrix.download() == transposed::values());
}

TEST_CASE("memory of others, and elements in one place, are refused") {
  transposed matrix;
  const auto slots = std::make_shared<ring>(matrix.space, ring_options{1, 4096});
  const auto check = [&](const mutable_tensor_view<fake_space>& view) {
    return detail::device_delivery<fake_space>(view, slots).check();
  };
  CHECK(check(matrix.view));
  mutable_tensor_view<fake_space> other = matrix.view;
  other.strides = {0, 128};
  CHECK(check(other).failure().code == errc::invalid_argument);
  other = matrix.view;
  other.shape = {33, 16};
  CHECK(check(other).failure().code == errc::invalid_argument);
  other.shape = {33, 0};
  CHECK(check(other));
}

}  // namespace device_delivery_test
