// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Layers 0 to 5 of the library; includes only. What needs a library or a device of its own stands
// apart: <zarrpoint/codec/gzip.hpp>, <zarrpoint/store/zip_inflate.hpp>,
// <zarrpoint/interop/safetensors.hpp>.

#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/migrate.hpp>
#include <zarrpoint/checkpoint/checkpoint.hpp>
#include <zarrpoint/checkpoint/load_all.hpp>
#include <zarrpoint/checkpoint/load_into_all.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/codec/default_codecs.hpp>
#include <zarrpoint/core/complex.hpp>
#include <zarrpoint/core/float_types.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/handler/registry.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/cache_store.hpp>
#include <zarrpoint/store/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/version.hpp>
