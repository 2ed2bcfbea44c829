// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: an entry of a registry whose handler does not fit its type
#include <zarrpoint/handler/registry.hpp>

#include <string>
#include <vector>

#if defined(ZP_OK)
using types = zarrpoint::registry<zarrpoint::bind<float>>;
#else
using types = zarrpoint::registry<zarrpoint::bind<float, zarrpoint::handler_of<std::string>>>;
#endif
static_assert(types::contains<float>);
