// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <optional>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Work that is done once, by the first thread that asks.
class pending_state {
 public:
  pending_state() : sync_(make_sync()) {}
  virtual ~pending_state() = default;

  /// Runs the work unless somebody has begun it.
  void start();
  void wait();
  bool done() const;

 private:
  struct sync;
  static std::shared_ptr<sync> make_sync();
  virtual void run() = 0;

  std::shared_ptr<sync> sync_;
};

template <class T>
struct pending_value : pending_state {
  std::optional<result<T>> value;
};

template <class T>
struct pending_constant final : pending_value<T> {
  void run() override {}
};

template <class T, class F>
struct pending_call final : pending_value<T> {
  explicit pending_call(F work) : call(std::move(work)) {}
  void run() override {
    this->value.emplace(guarded(*call));
    call.reset();  // what it held is free before anyone is told
  }
  std::optional<F> call;
};

}  // namespace detail

/// A result that is being made. The destructor waits for it, so that what the work borrows may live
/// in the same scope; move it to wait elsewhere.
///
/// A thread that waits runs the work itself if no thread has begun it: waiting never needs the
/// executor, and is safe from its own tasks.
template <class T>
class pending {
 public:
  using value_type = T;

  /// Holds nothing.
  pending() = default;
  /// A result that is there already. Without the memory for it, `get` is `resource_limit`.
  explicit pending(result<T> value) {
    adopt(guarded([&]() -> result<shared_state> {
      auto state = detail::make_counted<detail::pending_constant<T>>();
      state->value.emplace(std::move(value));
      state->start();
      return shared_state(std::move(state));
    }));
  }
  pending(pending&& other) noexcept
      : state_(std::move(other.state_)), no_memory_(std::exchange(other.no_memory_, false)) {}
  pending& operator=(pending&& other) noexcept {
    if (this != &other) {
      drop();
      state_ = std::move(other.state_);
      no_memory_ = std::exchange(other.no_memory_, false);
    }
    return *this;
  }
  ~pending() { drop(); }

  /// Tells whether there is a result to `get`, now or later.
  bool valid() const noexcept { return state_ != nullptr || no_memory_; }
  /// Tells whether the work is done; true when it holds nothing.
  bool ready() const { return state_ == nullptr || state_->done(); }
  /// Returns when the work is done.
  void wait() const {
    if (state_ != nullptr) state_->wait();
  }
  /// Waits and hands over the result, once. Errors: those of the work; `invalid_argument` when it
  /// holds nothing, as after the first call.
  result<T> get() {
    if (std::exchange(no_memory_, false)) return error{errc::resource_limit, "no memory"};
    if (state_ == nullptr)
      return error{errc::invalid_argument, "pending: the result was already taken"};
    wait();
    result<T> out = *std::move(state_->value);
    drop();
    return out;
  }

 private:
  template <class F>
  friend auto run_async(const any_executor& executor, F f);
  using shared_state = std::shared_ptr<detail::pending_value<T>>;

  /// Waits, and destroys what nobody took: the task that an executor has may keep the state for
  /// longer than what the result borrows, such as a memory resource.
  void drop() {
    wait();
    if (state_ != nullptr) state_->value.reset();
    state_.reset();
  }

  void adopt(result<shared_state> made) {
    if (made) {
      state_ = *std::move(made);
    } else {
      no_memory_ = true;
    }
  }

  shared_state state_;
  bool no_memory_ = false;  ///< for `state_`
};

/// Hands `f`, which returns a `result<T>`, to the executor; gives a `pending<T>`. With the inline
/// executor it is done on return. An exception from `f` becomes an error.
template <class F>
auto run_async(const any_executor& executor, F f) {
  static_assert(detail::is_result<std::invoke_result_t<F&>>,
                "run_async calls f(), which returns a result");
  using value = typename std::invoke_result_t<F&>::value_type;
  pending<value> out;
  out.adopt(guarded([&]() -> result<typename pending<value>::shared_state> {
    auto state = detail::make_counted<detail::pending_call<value, F>>(std::move(f));
    // An executor that refuses is not a failure: the thread that waits does the work.
    static_cast<void>(guarded([&]() -> result<void> {
      executor.execute([state] { state->start(); });
      return {};
    }));
    return typename pending<value>::shared_state(std::move(state));
  }));
  return out;
}

}}  // namespace zarrpoint::v0
