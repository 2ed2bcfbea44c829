// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A number, most often an offset in a file, and the place in a list of what it belongs to.
struct numbered_place {
  std::uint64_t number;
  std::size_t place;
};

/// By number, then by place. What lies in files is all sorted here, since `std::sort` takes more
/// than a KiB for each type that it sorts.
void sort_numbers(std::span<numbered_place> list);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/core/impl/sort_numbers_impl.hpp>
#endif
