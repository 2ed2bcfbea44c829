// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A Zarr array: the class, and what its members do.

#include <zarrpoint/array/array_class.hpp>      // IWYU pragma: export
#include <zarrpoint/array/base/background.hpp>  // IWYU pragma: export
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>  // IWYU pragma: export

#if ZARRPOINT_BODIES
#include <zarrpoint/array/impl/array_open_impl.hpp>
#include <zarrpoint/array/impl/array_transfer_impl.hpp>
#include <zarrpoint/array/impl/array_view_impl.hpp>
#endif
