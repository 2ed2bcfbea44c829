// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The codecs gzip and zlib. Link zlib (-lz).
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>
