// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: a strategy lacks a member of its action
#include <zarrpoint/distributed/strategy/strategy.hpp>

namespace zp = zarrpoint;

struct loader {
  static constexpr std::string_view name = "loader";
  static constexpr std::string_view backend = "own";
  static constexpr int version = 1;
  static constexpr zp::strategy_action action = zp::strategy_action::load_common;
#ifdef ZP_OK
  zp::result<zp::json> load_common(const zp::load_job&) const { return zp::json(); }
#endif
};

int main() { return zp::any_strategy(loader{}) ? 0 : 1; }
