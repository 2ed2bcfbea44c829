// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// A piece of work for an executor: a move-only callable without arguments or result. Small
/// callables are kept in place. An exception that leaves the callable terminates the program, so
/// makers of tasks catch first.
class task {
 public:
  task() = default;

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, task> && std::is_invocable_v<std::decay_t<F>&>)
  task(F&& callable) {  // NOLINT(bugprone-forwarding-reference-overload)
    using held = std::decay_t<F>;
    if constexpr (fits<held>) {
      ::new (static_cast<void*>(storage_)) held(std::forward<F>(callable));
      table_ = &in_place<held>;
    } else {
      ::new (static_cast<void*>(storage_)) held*(new held(std::forward<F>(callable)));
      table_ = &on_heap<held>;
    }
  }

  task(task&& other) noexcept;
  task& operator=(task&& other) noexcept;
  ~task() { reset(); }

  explicit operator bool() const noexcept { return table_ != nullptr; }

  /// Runs the callable, which must be there.
  void operator()() noexcept;

 private:
  struct operations {
    void (*run)(void* self);
    void (*relocate)(void* to, void* from) noexcept;  // moves, and destroys the source
    void (*destroy)(void* self) noexcept;
  };

  // Six words hold every task of this library.
  static constexpr std::size_t capacity = 6 * sizeof(void*);

  template <class F>
  static constexpr bool fits =
      sizeof(F) <= capacity &&
      alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

  template <class F>
  static constexpr operations in_place{
      [](void* self) { static_cast<void>((*static_cast<F*>(self))()); },
      [](void* to, void* from) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* self) noexcept { static_cast<F*>(self)->~F(); }};

  template <class F>
  static constexpr operations on_heap{
      [](void* self) { static_cast<void>((**static_cast<F**>(self))()); },
      [](void* to, void* from) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* self) noexcept { delete *static_cast<F**>(self); }};

  void reset() noexcept;

  const operations* table_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[capacity];
};

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/exec/impl/task_impl.hpp>
#endif
