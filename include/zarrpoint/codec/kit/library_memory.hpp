// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Memory for a C library from a memory resource, which counts it. Those libraries do not say the
/// size when they give memory back: it stands in front.
struct library_memory {
  static constexpr std::size_t header = 64;

  static void* allocate(void* resource, std::size_t bytes);
  static void deallocate(void* resource, void* address);
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/impl/library_memory_impl.hpp>
#endif
