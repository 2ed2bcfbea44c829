// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a value of several leaves is not a tensor; shard each of its members
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/members.hpp>

struct pair_of_numbers {
  int a, b;
  friend auto zarrpoint_members(pair_of_numbers& v) {
    return zarrpoint::members("a", v.a, "b", v.b);
  }
};

int main() {
  pair_of_numbers value{1, 2};
#ifdef ZP_OK
  return zarrpoint::shard("w", value.a) ? 0 : 1;
#else
  return zarrpoint::shard("w", value) ? 0 : 1;
#endif
}
