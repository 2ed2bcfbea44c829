// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Declares the customisation points, so that a header with types of its own can be made storable
// without including the library. The other points are concepts and variable templates, which
// cannot be declared ahead: `dtype_of` (core/types/dtype.hpp), `memory_space`
// (memory/memory_space.hpp).

namespace zarrpoint { inline namespace v0 {

/// Specialise it to make `T` storable; see handler/types/type_handler.hpp for what it must hold. A
/// type of your own may have a nested `zarrpoint_handler` instead.
template <class T>
struct type_handler;

/// Where a handler's `make` puts the new value.
template <class Space>
struct place;

template <class T>
class result;
struct error;
class dtype;
class dims;
struct tensor_spec;
struct host_space;
class memory_resource;
class leaf;

}}  // namespace zarrpoint::v0
