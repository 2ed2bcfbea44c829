// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/device/device_delivery.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include "support/fake_device.hpp"
#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace device_delivery_test {

using namespace zarrpoint;
using namespace zarrpoint_test;
using ring = detail::staging_ring<fake_space>;

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
    detail::wait_for_stream(space).value();
    std::vector<std::int32_t> out(512);
    for (std::size_t i = 0; i < 32; ++i)
      for (std::size_t j = 0; j < 16; ++j) out[i * 16 + j] = there[j * 32 + i];
    return out;
  }
};

/// Tells what is asked of it.
struct noting_space : fake_space {
  std::string* calls = nullptr;

  result<void> copy_from_host(std::byte* to, const std::byte* from, const row_block& rows) const {
    *calls += "copy ";
    return fake_space::copy_from_host(to, from, rows);
  }
  result<event> record() const {
    *calls += "record ";
    return fake_space::record();
  }
  result<void> move(const strided_move& elements) const {
    *calls += "move ";
    return fake_space::move(elements);
  }
  template <class... Args>
  result<void> unshuffle(const Args&... args) const {
    *calls += "unshuffle ";
    return fake_space::unshuffle(args...);
  }
};
static_assert(kernel_space<noting_space>);

result<void> deliver_values(const detail::device_delivery<fake_space>& delivery) {
  const std::vector<std::int32_t> values = transposed::values();
  return delivery.deliver(box::whole({32, 16}), [&](const mutable_host_view& to) -> result<void> {
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
        matrix.view, std::make_shared<ring>(matrix.space, detail::ring_options{2, 4096}));
    deliver_values(delivery).value();
    CHECK(matrix.download() == transposed::values());
    CHECK(matrix.device.count().kernels.move == (way == 0 ? 1 : 0));
    CHECK(matrix.device.live_allocations() == 1);
  }
}

TEST_CASE("the one who fills is told in which form elements are wanted") {
  for (const int way : {0, 1, 2}) {
    transposed matrix(way == 2 ? 2500 : std::size_t{1} << 20);
    matrix.device.set_kernels(way != 1);
    const detail::device_delivery<fake_space> delivery(
        matrix.view, std::make_shared<ring>(matrix.space, detail::ring_options{1, 4096}));
    const auto fill = [&](const mutable_host_view& to, const detail::device_form& form) {
      CHECK(form.is_reversed == (way == 0));
      CHECK(form.type == (way == 0 ? dtype_kind::int16 : dtype_kind::int32));
      CHECK(to.type == form.type);
      std::int32_t i = 0;
      for_each_coordinate(to.shape, [&](const dims& at) {
        std::byte* const place = to.data + offset_of(at, to.strides);
        if (way == 0) {
          const auto value = static_cast<std::uint16_t>(i++);
          const std::uint16_t reversed = __builtin_bswap16(value);
          std::memcpy(place, &reversed, sizeof reversed);
        } else {
          std::memcpy(place, &i, sizeof i);
          ++i;
        }
      });
      return result<void>();
    };
    delivery.deliver(box::whole({32, 16}), {dtype_kind::int16, true}, fill).value();
    std::vector<std::int32_t> expected(512);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(matrix.download() == expected);
    CHECK(matrix.device.count().kernels.swap_bytes == (way == 0 ? 1 : 0));
    CHECK(matrix.device.count().kernels.cast == (way == 0 ? 1 : 0));
  }
}

TEST_CASE("planes become elements of the target, as many of each chunk as are wanted") {
  for (const bool casts : {false, true}) {
    transposed matrix;
    const detail::device_delivery<fake_space> delivery(
        matrix.view, std::make_shared<ring>(matrix.space, detail::ring_options{1, 4096}));
    // Two chunks of 20 x 16, the second of which ends beyond the 32 rows of the matrix.
    const dtype type = casts ? dtype_kind::int16 : dtype_kind::int32;
    const detail::chunk_planes planes{{20, 16}, {type, true}, type.size(), 2};
    const auto fill = [&](mutable_bytes to) {
      CHECK(to.size() == 640 * type.size());
      for (std::size_t i = 0; i < 640; ++i) {
        const std::size_t of_chunk = i / 320 * 320 * type.size();
        for (std::size_t b = 0; b < type.size(); ++b)  // the last plane has the lowest bytes
          to[of_chunk + b * 320 + i % 320] =
              static_cast<std::byte>(b + 2 < type.size() ? 0 : i >> 8 * (type.size() - 1 - b));
      }
      return result<void>();
    };
    const auto at = [](std::size_t i) {
      return i == 0 ? std::pair{box::whole({20, 16}), box::whole({20, 16})}
                    : std::pair{box{{0, 0}, {12, 16}}, box{{20, 0}, {12, 16}}};
    };
    CHECK(delivery.deliver_planes(planes, fill, at).value());
    std::vector<std::int32_t> expected(512);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(matrix.download() == expected);
    const auto count = matrix.device.count();
    CHECK(count.kernels.unshuffle == 2);
    CHECK(count.kernels.swap_bytes == 2);
    CHECK(count.kernels.cast == (casts ? 2 : 0));
    CHECK(count.kernels.move == 2);
    CHECK(count.live_allocations == 1);
  }
  transposed matrix(2500);  // all but full
  const detail::device_delivery<fake_space> delivery(
      matrix.view, std::make_shared<ring>(matrix.space, detail::ring_options{1, 4096}));
  const auto never = [](mutable_bytes) { return result<void>(error{errc::corrupt, "asked for"}); };
  const auto at = [](std::size_t) { return std::pair<box, box>(); };
  CHECK_FALSE(delivery.deliver_planes({{32, 16}, {dtype_kind::int32}, 4, 1}, never, at).value());
}

TEST_CASE("a slot is free once it has been copied, whatever kernels do then") {
  transposed matrix;
  std::string calls;
  const noting_space space{{&matrix.device, 0}, &calls};
  const mutable_tensor_view<noting_space> view{
      matrix.memory, dtype_kind::int32, {32, 16}, {4, 128}, space, {}};
  const auto slots =
      std::make_shared<detail::staging_ring<noting_space>>(space, detail::ring_options{1, 4096});
  const detail::device_delivery<noting_space> delivery(view, slots);
  const auto fill = [](const mutable_host_view& to) -> result<void> {
    std::memset(to.data, 0, 2048);
    return {};
  };
  delivery.deliver(box::whole({32, 16}), fill).value();
  CHECK(calls == "copy record move ");
  calls.clear();
  const auto fill_planes = [](mutable_bytes to) -> result<void> {
    std::memset(to.data(), 0, to.size());
    return {};
  };
  const auto at = [](std::size_t) { return std::pair{box::whole({32, 16}), box::whole({32, 16})}; };
  const detail::chunk_planes planes{{32, 16}, {dtype_kind::int32}, 4, 1};
  CHECK(delivery.deliver_planes(planes, fill_planes, at).value());
  CHECK(calls == "copy record unshuffle move ");
  CHECK(matrix.download() == std::vector<std::int32_t>(512, 0));
}

TEST_CASE("an error of the one who fills is handed on, and the slot comes back") {
  transposed matrix;
  const auto slots = std::make_shared<ring>(matrix.space, detail::ring_options{1, 4096});
  const detail::device_delivery<fake_space> delivery(matrix.view, slots);
  const result<void> refused =
      delivery.deliver(box::whole({32, 16}), [](const mutable_host_view&) -> result<void> {
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
  const auto slots = std::make_shared<ring>(matrix.space, detail::ring_options{1, 4096});
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
