// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of stores.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/store/base/bodies.hpp>
#include <zarrpoint/store/bodies.hpp>
#include <zarrpoint/store/file/file_bodies.hpp>
#include <zarrpoint/store/file/write_bodies.hpp>
#include <zarrpoint/store/format_bodies.hpp>
#include <zarrpoint/store/zip/read_bodies.hpp>
#include <zarrpoint/store/zip/write_bodies.hpp>
