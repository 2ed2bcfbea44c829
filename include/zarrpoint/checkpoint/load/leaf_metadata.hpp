// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What a checkpoint says about a leaf without reading its data.
struct leaf_metadata {
  std::string name;
  std::string typestr;  ///< of the handler that saved it; empty when others wrote it
  tensor_spec spec;
  dims chunk_shape;  ///< the unit of reading
  dims shard_shape;  ///< the unit of storage; the chunk's own when there are no shards
  std::vector<codec_spec> codecs;  ///< of a chunk
  std::optional<std::uint64_t>
      stored_bytes{};  ///< of all its objects; nothing when others wrote it
  int zarr_format = 3;
  node attributes{};  ///< an object, or null for none
};

}}  // namespace zarrpoint::v0
