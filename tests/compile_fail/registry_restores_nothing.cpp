// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: no entry of this registry restores a type
#include <zarrpoint/handler/registry.hpp>

#include <span>
#include <string>
#include <vector>

#if defined(ZP_OK)
using types = zarrpoint::registry_of<float>;
#else
using types = zarrpoint::registry_of<std::span<float>>;
#endif
zarrpoint::result<int> test(const zarrpoint::tensor_spec& stored) {
  return types::dispatch("array", stored, [](auto) -> zarrpoint::result<int> { return 1; });
}
