// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Layers 0 to 5 of the library; includes only. What needs a library or a device of its own stands
// behind a door of its own: <zarrpoint/gzip.hpp>, <zarrpoint/zip_inflate.hpp>,
// <zarrpoint/safetensors.hpp>, and so on (docs/names.md).
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/hierarchy/migrate.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/complex.hpp>
#include <zarrpoint/core/types/float_types.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/cache_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/version.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#endif
