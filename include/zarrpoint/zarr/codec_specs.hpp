// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A codec of a `codecs` list: `{"name": ..., "configuration": {...}}`, or the bare name that
/// zarrs reads too. `must_understand` may stand beside; other members are refused (Zarr v3 core,
/// "Extension definition"). Errors: `corrupt`, `unsupported`.
result<codec_spec> parse_codec_spec(const json& value);

/// A list of codecs, as `codecs` and the lists within `sharding_indexed` are; not empty.
result<std::vector<codec_spec>> parse_codec_specs(const json& value);

/// The long form, which every reader understands; without configuration only the name.
/// Errors: `invalid_argument` for a codec that need not be understood: those are not written.
result<json> codec_specs_to_json(std::span<const codec_spec> specs);

/// Refuses a level of `zstd`, `gzip` or `numcodecs.zlib` that the codec does not have, in shards,
/// too. Readers take the nearest, since some writers store what they were given; new metadata have
/// levels that every reader takes. Errors: `invalid_argument`, naming codec, level and range.
result<void> check_levels(std::span<const codec_spec> specs);

/// Puts the level that readers take in place of one that the codec does not have.
void mend_levels(std::span<codec_spec> specs);

/// The same as it lies in the document, of which nothing is copied.
struct named_json {
  std::string name;
  const json* configuration = nullptr;  ///< never null; a JSON null where there is none
  bool must_understand = true;
};

/// A chunk grid, chunk key encoding or data type, where `must_understand` is not allowed. It may
/// have the member `also`, too.
result<named_json> parse_named(const json& value, std::string_view also = "name");

}}}  // namespace zarrpoint::v0::detail
