// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/context.hpp>
#include <zarrpoint/codec/default_codecs.hpp>
#include <zarrpoint/store/registry.hpp>

namespace zarrpoint::inline v0::detail {

ZARRPOINT_INLINE codec_table default_codec_table() { return default_codecs::table(); }
ZARRPOINT_INLINE store_table default_store_table() { return default_stores::table(); }

}  // namespace zarrpoint::inline v0::detail
