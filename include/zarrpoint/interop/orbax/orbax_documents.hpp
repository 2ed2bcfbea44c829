// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// The documents of Zarr for what Orbax keeps otherwise.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

std::string group_document(const node& attributes);

/// An array of rank 0 that holds one text, by the codec `vlen-utf8`.
inline constexpr std::string_view text_document =
    R"({"zarr_format":3,"node_type":"array","shape":[],"data_type":"string",)"
    R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},)"
    R"("chunk_key_encoding":{"name":"default"},"fill_value":"","codecs":[{"name":"vlen-utf8"}]})";

/// Its chunk.
std::vector<std::byte> text_chunk(std::string_view text);

/// An array of one chunk.
std::string array_document(const aggregate_array& array);

/// The text of a leaf: its storage name is a JSON pointer without its escapes.
const std::string* text_of(const node& texts, std::string_view storage);

}}}}  // namespace zarrpoint::v0::orbax::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax/impl/orbax_documents_impl.hpp>
#endif
