// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arrays and groups as such: make, open, read, write, resize, compact, index; no checkpoint around
// them. The umbrella has those of every day; this door has all of them.
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/array/compact.hpp>
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/hierarchy/migrate.hpp>
#include <zarrpoint/array/indexed_array.hpp>
#include <zarrpoint/array/resize.hpp>
#include <zarrpoint/array/value_transfer.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/array/index_bodies.hpp>
#include <zarrpoint/array/resize_bodies.hpp>
#endif
