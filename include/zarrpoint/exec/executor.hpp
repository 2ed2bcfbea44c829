// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
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

/// Something that runs tasks: a small copyable handle with `execute(task)`, which may run the task
/// at once, later, on any thread, or drop it. A member `concurrency()` says how many tasks run at a
/// time; without one the number of processors is assumed.
template <class E>
concept executor = std::copy_constructible<E> && requires(const E& handle, task work) {
  handle.execute(std::move(work));
};

/// Runs each task at once, on the calling thread.
struct inline_executor {
  void execute(task work) const { work(); }
  unsigned concurrency() const noexcept { return 1; }
};
static_assert(executor<inline_executor>);

/// The processors that this process may use, at least 1. A quota of its container is read once.
unsigned hardware_concurrency() noexcept;

/// Any executor behind one type: a shared handle, inline by default.
class any_executor {
 public:
  any_executor() = default;

  template <class E>
    requires(!std::same_as<E, any_executor> && executor<E>)
  any_executor(E handle) {
    if constexpr (!std::same_as<E, inline_executor>)
      model_ = detail::make_counted<const model<E>>(std::move(handle));
  }

  void execute(task work) const {
    if (model_ == nullptr) {
      work();
    } else {
      model_->execute(std::move(work));
    }
  }

  /// Asks for a thread beside the caller's, which does the same work. `work` may come late, when
  /// there is nothing left to do, or never. An executor that has this call and `rest` as well as
  /// `execute` can leave the caller's processor to the caller; any other one executes it.
  void help(task work) const {
    if (model_ == nullptr) {
      work();
    } else {
      model_->help(std::move(work));
    }
  }

  /// Says that the thread that asked for help does nothing but wait for it, or does so no more.
  void rest(bool begins) const {
    if (model_ != nullptr) model_->rest(begins);
  }

  /// How many tasks run at a time, at least 1.
  unsigned concurrency() const { return model_ == nullptr ? 1 : model_->concurrency(); }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual void execute(task work) const = 0;
    virtual void help(task work) const = 0;
    virtual void rest(bool begins) const = 0;
    virtual unsigned concurrency() const = 0;
  };

  template <class E>
  struct model final : interface {
    explicit model(E wrapped) : handle(std::move(wrapped)) {}
    void execute(task work) const override { handle.execute(std::move(work)); }
    static constexpr bool has_help = requires(const E& it, task work) {
      it.help(std::move(work));
      it.rest(true);
    };
    void help(task work) const override {
      if constexpr (has_help) {
        handle.help(std::move(work));
      } else {
        handle.execute(std::move(work));
      }
    }
    void rest([[maybe_unused]] bool begins) const override {
      if constexpr (has_help) handle.rest(begins);
    }
    unsigned concurrency() const override {
      if constexpr (requires {
                      { handle.concurrency() } -> std::convertible_to<unsigned>;
                    }) {
        const unsigned count = handle.concurrency();
        return count == 0 ? 1 : count;
      } else {
        return hardware_concurrency();
      }
    }
    E handle;
  };

  std::shared_ptr<const interface> model_;
};
static_assert(executor<any_executor>);

}}  // namespace zarrpoint::v0
