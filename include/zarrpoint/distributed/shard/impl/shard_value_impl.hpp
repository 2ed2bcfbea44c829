// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/distributed/shard/shard_value.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE box relative_to(const box& of, const box& part) {
  box out = part;
  for (std::size_t i = 0; i < part.rank(); ++i) out.offset[i] -= of.offset[i];
  return out;
}

}}}  // namespace zarrpoint::v0::detail
