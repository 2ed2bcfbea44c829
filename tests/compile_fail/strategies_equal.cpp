// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: two strategies of a list have the same action, backend and version
#include <zarrpoint/distributed/strategy/strategy.hpp>

namespace zp = zarrpoint;

template <int Version>
struct loader {
  static constexpr std::string_view name = "loader";
  static constexpr std::string_view backend = "own";
  static constexpr int version = Version;
  static constexpr zp::strategy_action action = zp::strategy_action::load_common;
  zp::result<zp::json> load_common(const zp::load_job&) const { return zp::json(); }
};
struct other : loader<1> {};

int main() {
#ifdef ZP_OK
  return static_cast<int>(zp::strategies<loader<1>, loader<2>>::table().entries().size());
#else
  return static_cast<int>(zp::strategies<loader<1>, other>::table().entries().size());
#endif
}
