// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Zip files with deflated members. Link zlib (-lz).
#include <zarrpoint/store/zip_inflate.hpp>
