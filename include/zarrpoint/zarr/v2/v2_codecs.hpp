// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <cstddef>

// The codecs of Zarr v2, where order, byte order, filters and compressor are members of their own,
// told as a v3 chain and back.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// A codec of bytes, a filter or the compressor; `item_size` is that of what it gets.
result<codec_spec> parse_v2_bytes_codec(const node& value, std::size_t item_size);

/// Reads the members `dtype`, `filters` and `compressor`: appends to `codecs` the chain that makes
/// the same bytes of elements of `type`, which becomes `bytes` where the filter of `|O` says so.
/// Filters that are absent, null or `[]` are none.
result<void> parse_v2_chain(const node& zarray, v2_dtype type, array_metadata& out);

node reversed_axes(std::size_t rank);

/// A codec of bytes as a filter or compressor.
result<node> to_v2_bytes_codec(const codec_spec& spec);

/// What of a `.zarray` the codecs say.
struct v2_codecs {
  node dtype;
  bool is_fortran = false;
  node filters;
  node compressor;
};

/// Reads a chain as `[transpose of all axes] [array filters] bytes [bytes filters] [compressor]`
/// or `[transpose of all axes] object filter [bytes filters] [compressor]`, which is what v2 can
/// say.
result<v2_codecs> to_v2_codecs(const array_metadata& array);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/v2/impl/v2_codecs_impl.hpp>
#endif
