// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/numa.hpp>

#include "cuda/fixture.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <fstream>

namespace numa_test {

using namespace zarrpoint;

TEST_CASE("the node of a device is what the system says of its PCI address") {
  const test::temp_directory folder;
  const std::string devices = folder.path().string();
  const auto node = [&](const std::string& said) {
    std::filesystem::create_directories(folder.path() / "0000:3b:00.0");
    std::ofstream(folder.path() / "0000:3b:00.0" / "numa_node") << said;
    return zarrpoint::cuda::detail::numa_node_at("0000:3B:00.0", devices);
  };
  CHECK(node("1\n") == 1);
  CHECK(node("0") == 0);
  CHECK(node("-1\n") == -1);
  CHECK(node("") == -1);
  CHECK(node("near\n") == -1);
  CHECK(zarrpoint::cuda::detail::numa_node_at("0000:99:00.0", devices) == -1);
}

TEST_CASE("a device that the system does not know has no node") {
  const zarrpoint_test::fresh_devices devices;
  CHECK(zarrpoint::cuda::detail::numa_node_of(0) == -1);
}

TEST_CASE("memory near a node keeps what it holds") {
  std::vector<std::byte> memory(100000, std::byte{7});
  const mutable_bytes all(memory);
  CHECK(!zarrpoint::cuda::detail::prefer_numa_node(all, -1));
  CHECK(!zarrpoint::cuda::detail::prefer_numa_node(all, 1 << 20));
  CHECK(zarrpoint::cuda::detail::prefer_numa_node(all.first(8), 0));  // no whole page
  zarrpoint::cuda::detail::prefer_numa_node(all, 0);                  // where the kernel lets us
  CHECK(memory == std::vector<std::byte>(100000, std::byte{7}));
}

}  // namespace numa_test
