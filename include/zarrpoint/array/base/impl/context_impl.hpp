// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/store/registry.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE codec_table default_codec_table() { return default_codecs::table(); }
ZARRPOINT_INLINE store_table default_store_table() { return default_stores::table(); }

}}}  // namespace zarrpoint::v0::detail
