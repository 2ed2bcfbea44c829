// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>

#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// A part of an array, and the shape that it has without the axes that were indexed away.
struct slice {
  zp::selection part;
  zp::dims shape;
  zp::dims axes;  ///< of the array, that are left in the shape
};

/// All of an array.
slice whole_slice(const zp::dims& shape);

/// Basic indexing as numpy writes it: `"0:3, :, ::2"`, `"-1"`, `"..., 0"`. Bounds of ranges are cut
/// to the array, a single index must lie in it. Errors: `invalid_argument`, `out_of_range`;
/// `unsupported` for a negative step.
zp::result<slice> parse_slice(std::string_view text, const zp::dims& shape);

}  // namespace cli
