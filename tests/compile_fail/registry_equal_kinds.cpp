// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a registry in which an earlier entry restores the same
#include <zarrpoint/handler/registry.hpp>

#include <string>
#include <vector>

#if defined(ZP_OK)
using types = zarrpoint::registry_of<float, long>;
#else
using types = zarrpoint::registry_of<float, long, long long>;
#endif
static_assert(types::contains<float>);
