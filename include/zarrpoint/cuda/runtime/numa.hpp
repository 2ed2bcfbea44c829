// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Host memory near a device, where the system tells what is near. All of it is best effort: a copy
// from the far node is slower and no error.

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/cuda/runtime/current_device.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace zarrpoint { inline namespace v0 { namespace cuda { namespace detail {

/// What the kernel says of the device at a PCI address such as `0000:3B:00.0`; -1 if nothing.
inline int numa_node_at(std::string pci_address,
                        const std::string& devices = "/sys/bus/pci/devices") {
  for (char& c : pci_address) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  std::FILE* const file = std::fopen((devices + "/" + pci_address + "/numa_node").c_str(), "re");
  if (file == nullptr) return -1;
  int node = -1;
  if (std::fscanf(file, "%d", &node) != 1) node = -1;
  std::fclose(file);
  return node;
}

/// The NUMA node that the device is attached to, or -1.
inline int numa_node_of(int device) {
  char address[32] = {};
  if (cudaDeviceGetPCIBusId(address, sizeof address, device) != cudaSuccess) {
    static_cast<void>(::cudaGetLastError());
    return -1;
  }
  return detail::numa_node_at(address);
}

/// Asks the kernel to keep the whole pages of `memory` on that node, and to move those that were
/// touched already. Whether it will.
inline bool prefer_numa_node(mutable_bytes memory, int node) {
#if defined(SYS_mbind)
  constexpr unsigned long bits = 8 * sizeof(unsigned long);
  constexpr int preferred = 1;  // MPOL_PREFERRED: elsewhere when the node is full
  constexpr unsigned move = 2;  // MPOL_MF_MOVE
  unsigned long nodes[16] = {};
  if (node < 0 || static_cast<unsigned long>(node) >= bits * 16) return false;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + memory.size()) / page * page;
  if (first >= last) return true;
  const auto at = static_cast<unsigned long>(node);
  nodes[at / bits] = 1UL << at % bits;
  return ::syscall(SYS_mbind, first, last - first, preferred, nodes, bits * 16, move) == 0;
#else
  static_cast<void>(memory);
  return node < 0;
#endif
}

}}}}  // namespace zarrpoint::v0::cuda::detail
