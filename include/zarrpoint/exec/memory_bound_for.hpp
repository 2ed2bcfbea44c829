// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <atomic>
#include <cstddef>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A `parallel_for` whose items take memory of one budget. When one is refused some, the others
/// end, and it goes on from there with half as many workers. Only what a worker that is alone was
/// refused twice is refused: the second time nothing is left of what others kept.
class memory_bound_for {
 public:
  memory_bound_for(const any_executor& executor, std::size_t n, parallel_options options);

  /// `f(i)` for every item, some of them again. `again(i)`, called while nothing runs, gives up
  /// what was kept for later items and returns from which one to go on, at most `i`, the lowest
  /// that was refused memory; or nothing, to fail. Errors: those of `f`.
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

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/exec/impl/memory_bound_for_impl.hpp>
#endif
