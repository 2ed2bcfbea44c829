// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Memory for what is made together, such as the tensors of one load. A block alone has small
/// pages for its end, where that does not nearly fill a huge one, and the first touch of those
/// takes five times as long; here the next block begins in the same huge page.
///
/// Blocks may outlive this. A huge page goes back to the system when no block lies in it any more,
/// so that one which is kept from among its neighbours holds less than two beside its own. Small
/// blocks have huge pages of their own, whose parts go back as soon as three of four are unused: a
/// block that is kept holds at most four times the small pages that it lies in. The next of these
/// huge pages is cleared when half of the one before is used, by one thread.
class packed_memory {
 public:
  packed_memory() noexcept;
  packed_memory(const packed_memory&) = delete;
  packed_memory& operator=(const packed_memory&) = delete;
  ~packed_memory();

  /// Where to allocate one block of about so many bytes from: `default_resource()` for what gains
  /// nothing, which is all until much was asked for. The resource lives until this and all of
  /// its blocks are gone. Thread-safe.
  memory_resource& resource_for(std::size_t bytes) noexcept;

 private:
  struct state;

  state* const state_;  ///< null where there is no memory for it
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/memory/impl/packed_memory_impl.hpp>
#endif
