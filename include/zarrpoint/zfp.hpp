// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The codecs zfp and zfpy. Link zfp (-lzfp).
#include <zarrpoint/codec/zfp/zfp.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#endif
