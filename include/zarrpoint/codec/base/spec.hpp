// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 {

/// A codec as metadata names it: one entry of `codecs` in `zarr.json` (Zarr v3 core, "Codecs").
struct codec_spec {
  std::string name;
  node configuration{};         ///< null when there is none
  bool must_understand = true;  ///< false: a reader that does not know the name leaves it out

  friend bool operator==(const codec_spec&, const codec_spec&) = default;
};

/// What a codec turns into what. A chain is any number of the first kind, exactly one of the
/// second, any number of the third.
enum class codec_kind { array_to_array, array_to_bytes, bytes_to_bytes };

}}  // namespace zarrpoint::v0
