// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/dlpack/dlpack.hpp>

#include "support/fake_device.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

// For extension modules: a fake device that passes for the CUDA device 3. Its stream 0 is the
// legacy default stream, its stream 2 is destroyed.

template <>
struct zarrpoint::dlpack::device_traits<zarrpoint_test::fake_space> {
  using space = zarrpoint_test::fake_space;

  static device_id id(const space& where) { return {2, where.device()}; }
  static bool holds(const space& where, const device_id& device) {
    return device.device_type == 2 && device.device_id == where.device();
  }
  static result<void> settle(const space& where);
  static std::int64_t stream_number(const space& where) {
    return where.stream == 0 ? 1 : static_cast<std::int64_t>(where.stream) + 100;
  }
  static result<std::optional<space>> on_stream(const space& where, std::int64_t number) {
    if (number == 1) return std::optional(space{where.owner, 0});
    if (number == 2) return std::optional<space>();
    if (number == 101) return std::optional(space{where.owner, 1});
    if (number == 102) return std::optional(space{where.owner, 2});
    return error{errc::invalid_argument, "no stream " + std::to_string(number)};
  }
};

namespace zarrpoint_test {

struct one_device {
  fake_device device{11, std::size_t{1} << 20, 3};
  std::size_t second = device.new_stream();
  std::size_t destroyed = device.new_stream();
  std::function<void()> on_settle = [] {};

  one_device() { device.destroy_stream(destroyed); }
};
inline one_device& python_device() {
  static one_device made;
  return made;
}

}  // namespace zarrpoint_test

inline zarrpoint::result<void> zarrpoint::dlpack::device_traits<zarrpoint_test::fake_space>::settle(
    const space& where) {
  zarrpoint_test::python_device().on_settle();
  where.drain();
  ZARRPOINT_TRY(done, where.record());
  return where.wait(done);
}
