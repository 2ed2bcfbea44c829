// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/stop.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>

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

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/exec/impl/parallel_for_impl.hpp>
#endif
