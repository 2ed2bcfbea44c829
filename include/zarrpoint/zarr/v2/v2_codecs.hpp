// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/zarr/metadata.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

// The codecs of Zarr v2, where order, byte order, filters and compressor are members of their own,
// told as a v3 chain and back.

/// A codec of bytes, a filter or the compressor; `item_size` is that of what it gets.
result<codec_spec> parse_v2_bytes_codec(const json& value, std::size_t item_size);

/// Reads the members `dtype`, `filters` and `compressor`. It appends to `codecs` the chain that
/// makes the same bytes of elements of `type`, which becomes `bytes` where the filter of `|O` says
/// so. Filters that are absent, null or `[]` are none.
result<void> parse_v2_chain(const json& zarray, v2_dtype type, array_metadata& out);

json reversed_axes(std::size_t rank);

/// A codec of bytes as a filter or compressor.
result<json> to_v2_bytes_codec(const codec_spec& spec);

/// What of a `.zarray` the codecs say.
struct v2_codecs {
  json dtype;
  bool is_fortran = false;
  json filters;
  json compressor;
};

/// Reads a chain as `[transpose of all axes] [array filters] bytes [bytes filters] [compressor]`
/// or `[transpose of all axes] object filter [bytes filters] [compressor]`, which is what v2 can
/// say.
result<v2_codecs> to_v2_codecs(const array_metadata& array);

// The filters of Zarr v2: what each of them is in v3, and those of elements told as v3 codecs and
// back. Filters of v2 look at bytes, and the `dtype` of each says as what; codecs of v3 look at
// elements, and the byte order comes at the end.

/// The row of an id of Zarr v2, or null.
const known_codec* find_v2_id(std::string_view id);

/// The row of a codec of Zarr v3, or null. All of them may have "numcodecs." before their ids.
const known_codec* find_v2_name(std::string_view name);

/// The name of the row's codec of v2 in v3.
std::string v3_name_of(const known_codec& row);

/// The options of a filter or compressor: all members but its id.
json v2_options(const json& value);

/// A `dtype` of a filter: a typestr; one without byte order, `f8`; or a name, `float64`.
result<v2_dtype> parse_v2_filter_dtype(const json& value);

/// An array filter as a codec; `elements` is what it gets, and becomes what it makes. The codec
/// gets elements in memory: it only has to know whether its `dtype` has another byte order than
/// they have, and `>` says so.
result<codec_spec> parse_v2_array_filter(const json& filter, const known_codec& row,
                                         v2_dtype& elements);

/// Array codecs of a v3 chain as filters; `elements` is of the array, in the byte order that the
/// chain stores, and all types in between get that order, too.
result<json::array> to_v2_array_filters(std::span<const codec_spec> codecs,
                                        const v2_dtype& elements);

}}}  // namespace zarrpoint::v0::detail
