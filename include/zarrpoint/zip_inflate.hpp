// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Zip files with deflated members. Link zlib (-lz).
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/zip_inflate.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/store/bodies.hpp>
#endif
