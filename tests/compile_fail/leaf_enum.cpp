// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: an enum is stored as its number
// EXPECT: std::underlying_type_t<E>
#include <zarrpoint/handler/leaf.hpp>

enum class colour : int { red, green };

#if defined(ZP_OK)
template <>
inline constexpr zarrpoint::dtype zarrpoint::dtype_of<colour> =
    zarrpoint::dtype_of<std::underlying_type_t<colour>>;
#endif

void test() { zarrpoint::leaf("w", colour::green); }
