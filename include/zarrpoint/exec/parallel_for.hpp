// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <optional>

namespace zarrpoint { inline namespace v0 {

/// How a `parallel_for` runs.
struct parallel_options {
  unsigned max_workers = 0;  ///< at most so many at a time, the caller included; 0 for no bound
  stop_token stop{};         ///< asked before each item
  /// A worker takes up to so many items in a row, for what lies side by side in memory; fewer near
  /// the end, so that all have work. With more than one, no item may wait for another.
  std::size_t grain = 1;
};

/// The number of workers of a `parallel_for` over `n` items, the calling thread included: what a
/// caller sizes its per-worker state by. At least 1.
unsigned parallel_workers(const any_executor& executor, std::size_t n,
                          const parallel_options& options = {});

namespace detail {

/// The body of a `parallel_for`, its type erased.
struct parallel_body {
  result<void> (*call)(void* context, std::size_t i, unsigned worker);
  void* context;
};

result<void> run_parallel(const any_executor& executor, std::size_t n, parallel_body body,
                          const parallel_options& options);

}  // namespace detail

/// Calls `f(i)` or `f(i, worker)`, which return `result<void>`, for every `i < n`, and returns when
/// all are done. The calling thread takes part as worker 0; `worker` is below
/// `parallel_workers(executor, n, options)` and no two calls at a time have the same one.
///
/// After a failure no item above it is begun, those below it are done, and the error is that of the
/// lowest failing `i`: the same in every run. Stopped early: `cancelled`. An exception from `f`
/// becomes an error. It may be nested on one executor, also from within its tasks.
template <class F>
result<void> parallel_for(const any_executor& executor, std::size_t n, F&& f,
                          const parallel_options& options = {}) {
  using callable = std::remove_reference_t<F>;
  static_assert(std::is_invocable_r_v<result<void>, callable&, std::size_t> ||
                    std::is_invocable_r_v<result<void>, callable&, std::size_t, unsigned>,
                "parallel_for calls f(i) or f(i, worker), which returns result<void>");
  const auto call = [](void* context, std::size_t i, unsigned worker) -> result<void> {
    callable& body = *static_cast<callable*>(context);
    if constexpr (std::is_invocable_v<callable&, std::size_t, unsigned>) {
      return body(i, worker);
    } else {
      return body(i);
    }
  };
  void* const context = const_cast<void*>(static_cast<const volatile void*>(std::addressof(f)));
  return detail::run_parallel(executor, n, {call, context}, options);
}

namespace detail {

/// A `parallel_for` whose items take memory of one budget. When one is refused some, the others
/// end, and it goes on from there with half as many workers. Only what a worker that is alone was
/// refused twice is refused: the second time nothing is left of what others kept.
class memory_bound_for {
 public:
  memory_bound_for(const any_executor& executor, std::size_t n, parallel_options options);

  /// `f(i)` for every item, some of them again. `again(i)`, called while nothing runs, gives up
  /// what was kept for later items and returns from which one to go on, at most `i`, the lowest
  /// that was refused memory. It returns nothing to fail. Errors: those of `f`.
  template <class F, class Again>
  result<void> run(F&& f, Again&& again) {
    while (true) {
      result<void> done = parallel_for(
          executor_, n_ - first_,
          [&](std::size_t i) -> result<void> {
            // What throws for want of memory is to be done again, too.
            result<void> one = guarded([&] { return f(first_ + i); });
            if (!one) note(first_ + i, one.failure().code);
            return one;
          },
          options_);
      if (done || !may_go_on(done.failure().code)) return done;
      const std::optional<std::size_t> next = again(failed_.load());
      if (!next) return done;
      go_on(*next);
    }
  }

  unsigned workers() const noexcept { return workers_; }

 private:
  void note(std::size_t i, errc code);
  bool may_go_on(errc code) const noexcept;
  void go_on(std::size_t from) noexcept;

  static constexpr std::size_t none = SIZE_MAX;

  const any_executor& executor_;
  const std::size_t n_;
  parallel_options options_;
  unsigned workers_;
  std::size_t first_ = 0;
  std::size_t failed_alone_ = none;
  std::atomic<std::size_t> failed_{none};  // the lowest
};

}  // namespace detail

}}  // namespace zarrpoint::v0
