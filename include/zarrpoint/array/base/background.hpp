// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/pending.hpp>

#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Gives `work(options)` to the executor of the context that `options` name, else of `own`. The
/// work has a copy of that context, since the caller's may be gone by then.
template <class Options, class F>
auto in_background(const context& own, const Options& options, F work) {
  using value = typename std::invoke_result_t<F&, const Options&>::value_type;
  auto begun = guarded([&]() -> result<pending<value>> {
    context how = options.how != nullptr ? *options.how : own;
    const any_executor executor = how.executor;
    return run_async(executor,
                     [how = std::move(how), by = options, work = std::move(work)]() mutable {
                       by.how = &how;
                       return work(std::as_const(by));
                     });
  });
  if (!begun) return pending<value>(std::move(begun).failure());
  return *std::move(begun);
}

}}}  // namespace zarrpoint::v0::detail
