// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every codec. Link zlib, bzip2 and liblzma (-lz -lbz2 -llzma).
#include <zarrpoint/codec/lists/all_codecs.hpp>
