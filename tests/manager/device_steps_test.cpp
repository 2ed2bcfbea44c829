// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Steps of tensors that live on a device.

#include <zarrpoint/manager.hpp>
#include <zarrpoint/stores.hpp>

#include "support/executors.hpp"
#include "support/strided_device.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace device_steps_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("manager: tensors of a device are copied there, where there is room") {
  constexpr std::size_t bytes = 256 * 256 * 4;
  const test::temp_directory folder;
  for (const bool has_room : {true, false}) {
    CAPTURE(has_room);
    random_source random(1);
    fake_device device(1, has_room ? std::size_t{64} << 20 : 300'000);
    const testing::manual_executor later;
    manager_options options{.keep = keep_policy::newest(1)};
    options.storage.device_copy = true;
    options.how.executor = later;
    const std::string run = folder / (has_room ? "room" : "none");
    auto manager = checkpoint_manager::open(run, options).value();
    for (std::int64_t step = 1; step <= 2; ++step) {
      auto tensor =
          std::make_unique<strided_device>(fake_space{&device}, dtype_kind::float32, dims{256, 256},
                                           dense_layout({256, 256}, 4), random);
      tensor->wait();
      const auto wanted = dense_bytes_of(tensor->on_host());
      const std::size_t before = device.count().bytes_to_host;
      manager.save(step, {{"w", tensor->view()}, {"step", step}}).value();
      // What the device has no room for has gone to the host when `save` returns, else nothing.
      CHECK(device.count().bytes_to_host - before == (has_room ? 0 : bytes));
      tensor.reset();
      later.run_all();
      manager.wait().value();
      const auto newest = manager.restore_latest().value();
      CHECK(newest.step == step);
      CHECK(dense_bytes_of(newest.data.load<zarrpoint::tensor>("w").value().view()) == wanted);
    }
    CHECK(manager.steps() == std::vector<std::int64_t>{2});
    CHECK(manager.warnings().empty() == has_room);
    manager.close().value();
  }
}

}  // namespace device_steps_test
