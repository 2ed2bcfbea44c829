// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Blosc with zlib inside. Link zlib (-lz).
#include <zarrpoint/codec/blosc/blosc_zlib.hpp>
