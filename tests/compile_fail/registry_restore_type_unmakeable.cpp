// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: restore_type of a type that its handler cannot make
#include <zarrpoint/handler/registry.hpp>

#include <span>
#include <string>
#include <vector>

using types =
#if defined(ZP_OK)
    zarrpoint::registry_of<float>::with<zarrpoint::restore_type<"row", std::vector<float>>>;
#else
    zarrpoint::registry_of<float>::with<zarrpoint::restore_type<"row", std::span<float>>>;
#endif
static_assert(types::contains<float>);
