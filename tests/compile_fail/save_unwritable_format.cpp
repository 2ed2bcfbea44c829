// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: no save_as(format, request) is known of this format
// REFUSE: was not declared
#include <zarrpoint/checkpoint.hpp>

namespace zp = zarrpoint;

namespace mine {
struct format {};
#if defined(ZP_OK)
zp::result<zp::save_report> save_as(const format&, const zp::save_request&) { return {}; }
#endif
}  // namespace mine

bool test(int value) {
  return zp::save("m", {{"w", value}}, {.format = mine::format{}}).has_value();
}
