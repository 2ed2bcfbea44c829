// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Memory for a C library from a memory resource, which counts it. Those libraries do not say the
/// size when they give memory back: it stands in front. They keep its address.
class library_memory {
 public:
  static constexpr std::size_t header = 64;

  explicit library_memory(memory_resource& from) : resource_(&from) {}
  library_memory(const library_memory&) = delete;
  library_memory& operator=(const library_memory&) = delete;

  /// What the libraries call, with the address of a `library_memory`; null for a refusal.
  static void* allocate(void* self, std::size_t bytes);
  static void deallocate(void* self, void* address);

  /// After a refusal: how many bytes were asked for `what`, and of which budget.
  error no_memory(std::string_view what) const;

 private:
  memory_resource* resource_;
  std::size_t refused_ = 0;  ///< the size of the last allocation that was
};

}}}  // namespace zarrpoint::v0::detail
