// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an operation takes at most, all of it: `operator new` and the resource of its context.

#include <zarrpoint/memory/resource.hpp>

#include "embedded/counted_new.hpp"

#include <cstddef>

namespace test {

/// The memory of the system, counted with what `operator new` gives.
class counted_resource final : public zarrpoint::memory_resource {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    // Below 2 MiB it comes from `operator new`, which counts.
    if (bytes >= mapped) count_taken(bytes);
    void* const out = zarrpoint::default_resource().allocate(bytes, alignment);
    if (out == nullptr && bytes >= mapped) count_given_back(bytes);
    return out;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    zarrpoint::default_resource().deallocate(memory, bytes, alignment);
    if (bytes >= mapped) count_given_back(bytes);
  }

 private:
  static constexpr std::size_t mapped = std::size_t{2} << 20;
};

/// Beyond `limits::memory` (and 5 % of it) an operation takes no more than this:
/// docs/guide.md.
constexpr std::size_t budget_constant = std::size_t{256} << 10;

/// What `f()` takes at most beyond what is live now.
template <class F>
std::size_t peak_of(F&& f) {
  const std::size_t before = restart_peak();
  f();
  return counted_new().peak - before;
}

inline bool keeps_to(std::size_t limit, std::size_t peak) {
  return peak <= limit + limit / 20 + budget_constant;
}

}  // namespace test
