// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: the local value of a sharded tensor must be a tensor
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/types/blob.hpp>

#include <vector>

int main() {
#ifdef ZP_OK
  const std::vector<float> value(3);
#else
  const zarrpoint::json_text value{"{}"};
#endif
  return zarrpoint::shard("key", value) ? 0 : 1;
}
