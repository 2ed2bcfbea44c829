// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// An old path, which goes with the next version: include <zarrpoint/gzip.hpp>.
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>
