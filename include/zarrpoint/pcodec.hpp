// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The codec pcodec alone; <zarrpoint/codecs.hpp> has it, too.
#include <zarrpoint/codec/pcodec/pcodec.hpp>
#include <zarrpoint/core/config.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/pcodec/bodies.hpp>
#endif
