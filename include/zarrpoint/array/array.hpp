// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A Zarr array: the class, and what its members do.

#include <zarrpoint/array/array_class.hpp>     // IWYU pragma: export
#include <zarrpoint/array/array_open.hpp>      // IWYU pragma: export
#include <zarrpoint/array/array_transfer.hpp>  // IWYU pragma: export
#include <zarrpoint/array/array_view.hpp>      // IWYU pragma: export
