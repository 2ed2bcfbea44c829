// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

// zstd frames whose blocks are Huffman codes without matches (RFC 8878), as planes of exponents are
// written: decoded here they are read half as fast again as by libzstd. What is not exactly so is
// left to libzstd, and so is every verdict on damage.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Decodes `frame`, which is all of a stream, if it is one of Huffman codes alone that makes
/// exactly the bytes of `to`; false when it is not, and `to` may then hold anything.
bool decode_zstd_literals(bytes_view frame, mutable_bytes to, codec_workspace& scratch);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/impl/zstd_literals_impl.hpp>
#endif
