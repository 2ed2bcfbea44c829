// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Build facts shared by every header. Macros in the whole library: VERSION_{MAJOR,MINOR,PATCH},
// EXCEPTIONS, ASSERT, TRY, CHECK; all begin with ZARRPOINT_.

#include <cassert>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define ZARRPOINT_EXCEPTIONS 1
#else
#define ZARRPOINT_EXCEPTIONS 0
#endif

/// For programming errors inside the library only; hostile input is always a `result`.
#define ZARRPOINT_ASSERT(condition) assert(condition)
