// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 {

/// A codec as metadata names it: one entry of `codecs` in `zarr.json` (Zarr v3 core, "Codecs").
struct codec_spec {
  codec_spec() = default;
  /// `called` with an object as its configuration, or with none. An integer is short for the level
  /// of a compressor: `{"gzip", 5}` has the configuration `{"level": 5}`, and the others of `zstd`
  /// and `blosc` are those of `zstd_codecs` and `blosc_codecs`.
  codec_spec(std::string called, node configured = {}, bool needed = true);  // NOLINT

  std::string name;
  node configuration{};         ///< null when there is none
  bool must_understand = true;  ///< false: a reader that does not know the name leaves it out

  friend bool operator==(const codec_spec&, const codec_spec&) = default;
};

/// What a codec turns into what. A chain is any number of the first kind, exactly one of the
/// second, any number of the third.
enum class codec_kind { array_to_array, array_to_bytes, bytes_to_bytes };

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/impl/spec_impl.hpp>
#endif
