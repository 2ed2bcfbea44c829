// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a registry with two entries for one type; use registry::with<...>
#include <zarrpoint/handler/registry.hpp>

#include <string>
#include <vector>

struct other_float : zarrpoint::handler_of<float> {
  static constexpr std::string_view typestr = "other";
};

#if defined(ZP_OK)
using types = zarrpoint::registry_of<float>::with<zarrpoint::bind<float, other_float>>;
#else
using types = zarrpoint::registry<zarrpoint::bind<float>, zarrpoint::bind<float, other_float>>;
#endif
static_assert(types::contains<float>);
