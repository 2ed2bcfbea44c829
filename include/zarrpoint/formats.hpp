// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// All formats, to read: `open(path, all_formats())`. Link zstd.
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/interop/all_formats.hpp>
#include <zarrpoint/store/format.hpp>
