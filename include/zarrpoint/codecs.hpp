// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every codec that needs no other library than zstd, and what a codec of one's own is written
// against (docs/codecs.md). Those that need one have doors of their own: gzip.hpp, blosc_zlib.hpp,
// bz2.hpp, lzma.hpp; all_codecs.hpp has them all.
#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/registry.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/codec/lists/numcodecs.hpp>
