// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace zarrpoint::inline v0 {

/// What one worker reuses from chunk to chunk: scratch memory and the contexts of compression
/// libraries, all from one memory resource. Not for two threads at once; movable.
class codec_workspace {
 public:
  /// Slots below this number belong to the caller of a chain, the others to the chain.
  static constexpr std::size_t caller_slots = 4;
  /// The most bytes that a chunk of variable-length elements may decode to before its elements are
  /// made, unless the caller says otherwise.
  static constexpr std::uint64_t default_variable_limit = std::uint64_t{1} << 30;

  /// `from` must outlive the workspace.
  explicit codec_workspace(memory_resource& from = default_resource(),
                           std::uint64_t variable_limit = default_variable_limit)
      : resource_(&from), variable_limit_(variable_limit) {}

  memory_resource& resource() const noexcept { return *resource_; }
  std::uint64_t variable_limit() const noexcept { return variable_limit_; }

  /// `bytes` bytes of scratch memory, uninitialised, aligned to 64. Asking for the same slot again
  /// ends the life of what it gave before. Errors: `resource_limit`.
  result<mutable_bytes> scratch(std::size_t slot, std::size_t bytes) {
    while (slots_.size() <= slot) slots_.emplace_back();
    buffer& held = slots_[slot];
    if (held.size() < bytes) {
      held = {};  // first, so that a budget need not hold both
      ZARRPOINT_TRY(grown, buffer::allocate(bytes, *resource_));
      held = std::move(grown);
    }
    return held.bytes().first(bytes);
  }

  /// The bytes of all scratch memory that it holds, in use or not.
  std::size_t held() const noexcept {
    std::size_t bytes = 0;
    for (const buffer& one : slots_) bytes += one.size();
    return bytes;
  }

  /// The worker's own `State`, made as `State(memory_resource&)` when first asked for.
  template <class State>
  State& state() {
    for (const kept& one : states_) {
      if (one.key == &state_key<State>) return *static_cast<State*>(one.value.get());
    }
    auto made = std::make_shared<State>(*resource_);
    State& out = *made;
    states_.push_back({&state_key<State>, std::move(made)});
    return out;
  }

 private:
  struct kept {
    char* key;
    std::shared_ptr<void> value;
  };
  /// One address per type; writable, since linkers may fold equal constants.
  template <class State>
  static inline char state_key = 0;

  memory_resource* resource_;
  std::uint64_t variable_limit_;
  std::vector<buffer> slots_;
  std::vector<kept> states_;
};

}  // namespace zarrpoint::inline v0
