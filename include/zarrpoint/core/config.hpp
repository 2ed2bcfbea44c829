// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Build facts shared by every header. Macros in the whole library: VERSION_{MAJOR,MINOR,PATCH},
// EXCEPTIONS, LINUX, BODIES, INLINE, NO_KEY, COMPILED_ONCE, ASSERT, TRY, CHECK; all begin with
// ZARRPOINT_.

#include <cassert>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define ZARRPOINT_EXCEPTIONS 1
#else
#define ZARRPOINT_EXCEPTIONS 0
#endif

/// Whether calls that Linux alone has may be used. Define ZARRPOINT_PLAIN_POSIX, for all units of a
/// program, to do without them; docs/platforms.md tells what differs.
#if defined(__linux__) && !defined(ZARRPOINT_PLAIN_POSIX)
#define ZARRPOINT_LINUX 1
#else
#define ZARRPOINT_LINUX 0
#endif

/// For programming errors inside the library only; hostile input is always a `result`.
#define ZARRPOINT_ASSERT(condition) assert(condition)

// The two forms of the library. Header-only: a door brings the bodies of what it declares, which
// stand in `bodies.hpp` of each room. Compiled (ZARRPOINT_COMPILED is defined for all units of a
// program, as zarrpoint::compiled does): a door only declares. The bodies are compiled once, in the
// library's own units or in the one that defines ZARRPOINT_IMPLEMENTATION. Neither a signature nor
// a layout depends on the form, so that units of both link together. NO_KEY stands before virtual
// functions: header-only, a class without a key function emits nothing where nobody uses it.
// COMPILED_ONCE: templates that the library instantiates for all are not instantiated elsewhere.
#if defined(ZARRPOINT_LIBRARY_UNIT)  // zarrpoint/compiled/*.cpp: each names the bodies that it
                                     // holds
#define ZARRPOINT_BODIES 0
#define ZARRPOINT_INLINE
#define ZARRPOINT_NO_KEY
#define ZARRPOINT_COMPILED_ONCE 1
#elif defined(ZARRPOINT_IMPLEMENTATION)
#define ZARRPOINT_BODIES 1
#define ZARRPOINT_INLINE
#define ZARRPOINT_NO_KEY
#define ZARRPOINT_COMPILED_ONCE 1
#elif defined(ZARRPOINT_COMPILED)
#define ZARRPOINT_BODIES 0
#define ZARRPOINT_INLINE inline
#define ZARRPOINT_NO_KEY
#define ZARRPOINT_COMPILED_ONCE 1
#else
#define ZARRPOINT_BODIES 1
#define ZARRPOINT_INLINE inline
#define ZARRPOINT_NO_KEY inline
#define ZARRPOINT_COMPILED_ONCE 0
#endif
