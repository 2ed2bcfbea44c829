// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What one worker reuses from chunk to chunk: scratch memory and the contexts of compression
/// libraries, all from one memory resource. Not for two threads at once; movable.
class codec_workspace {
 public:
  /// Slots below this number belong to the caller of a chain, the others to the chain.
  static constexpr std::size_t caller_slots = 4;
  /// The most bytes that a chunk of variable-length elements may decode to before its elements are
  /// made, unless the caller says otherwise.
  static constexpr std::uint64_t default_variable_limit = std::uint64_t{1} << 30;

  /// `from` must outlive the workspace, and so must `text`, the budget of `charge_text`; null:
  /// none.
  explicit codec_workspace(memory_resource& from = default_resource(),
                           std::uint64_t variable_limit = default_variable_limit,
                           limited_resource* text = nullptr);

  memory_resource& resource() const noexcept { return *resource_; }
  std::uint64_t variable_limit() const noexcept { return variable_limit_; }

  /// `bytes` bytes of scratch memory, uninitialised, aligned to 64. Asking for the same slot again
  /// ends the life of what it gave before. Errors: `resource_limit`.
  result<mutable_bytes> scratch(std::size_t slot, std::size_t bytes);

  /// A workspace for a chain within a codec, whose scratch memory is apart from this one's. It has
  /// the same memory resource and limits, and ends with this one.
  codec_workspace& nested();

  /// Gives up the states, and all scratch memory but that which `bytes` lie in.
  void keep_only(bytes_view bytes) noexcept;

  /// The bytes of all scratch memory that it holds, in use or not.
  std::size_t held() const noexcept;

  /// Counts text that strings are about to hold: they allocate it themselves, and few stored bytes
  /// may decode to much of it. Errors: `resource_limit`.
  result<void> charge_text(std::size_t bytes);
  /// What was charged since the last call: it is up to the caller now to give that back.
  std::size_t take_charged_text() noexcept { return std::exchange(charged_text_, 0); }

  /// The worker's own `State`, made as `State(memory_resource&)` when first asked for.
  template <class State>
  State& state() {
    void* held = find_state(&state_key<State>);
    if (held == nullptr) {
      held = keep_state(&state_key<State>,
                        any_state(new State(*resource_), &codec_workspace::destroy<State>));
    }
    return *static_cast<State*>(held);
  }

 private:
  using any_state = std::unique_ptr<void, void (*)(void*)>;
  struct kept {
    char* key;
    any_state value;
  };
  template <class State>
  static void destroy(void* old) {
    delete static_cast<State*>(old);
  }
  void* find_state(char* key) const noexcept;  // or null
  void* keep_state(char* key, any_state made);

  /// One address per type; writable, since linkers may fold equal constants.
  template <class State>
  static inline char state_key = 0;

  memory_resource* resource_;
  std::uint64_t variable_limit_;
  limited_resource* text_budget_;
  std::size_t charged_text_ = 0;
  std::vector<buffer> slots_;
  std::vector<kept> states_;
  std::unique_ptr<codec_workspace> nested_;
  codec_workspace* outer_ = nullptr;  // of a nested one
};

namespace detail {

/// A dense tensor in the scratch memory of a workspace. Its strings, where it has strings, end with
/// it; of other types nothing is initialised.
class scratch_tensor {
 public:
  /// Errors: `out_of_range`, `resource_limit`.
  static result<scratch_tensor> make(const tensor_spec& spec, codec_workspace& scratch,
                                     std::size_t slot);

  scratch_tensor(scratch_tensor&& other) noexcept;
  scratch_tensor& operator=(scratch_tensor&&) = delete;
  ~scratch_tensor() { std::destroy_n(first(), strings_); }

  const mutable_host_view& view() const noexcept { return view_; }

 private:
  scratch_tensor() = default;
  std::string* first() const noexcept { return reinterpret_cast<std::string*>(view_.data); }

  mutable_host_view view_;
  std::size_t strings_ = 0;
};

}  // namespace detail

}}  // namespace zarrpoint::v0
