// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every store, and what a store of one's own is written against (docs/stores.md). Zip files with
// deflated members need zlib: zip_inflate.hpp.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/cache_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/read_only_store.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/zip/zip_file.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/store/bodies.hpp>
#endif
