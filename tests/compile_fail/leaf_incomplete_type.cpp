// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type is only declared here: include the header that defines it, such as
#include <zarrpoint/handler/leaf.hpp>

template <class T>
class array_of;
#if defined(ZP_OK)
template <class T>
class array_of : public std::vector<T> {};
template <class T>
struct zarrpoint::type_handler<array_of<T>> : zarrpoint::handler_of<std::vector<T>> {};
#endif

void test(array_of<float>& values) { zarrpoint::leaf("w", values); }
