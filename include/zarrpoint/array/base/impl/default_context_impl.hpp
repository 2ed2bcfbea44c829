// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

namespace zarrpoint { inline namespace v0 {

/// What checkpoints, arrays and groups use when the caller names no context: a thread for each
/// core, started at the first use and joined at exit, the default codecs and limits. Pass a
/// `context{}` of your own for the inline executor: then no thread is ever started.
ZARRPOINT_INLINE const context& default_context() {
  static thread_pool pool;
  static const context how{.executor = pool.executor()};
  return how;
}

}}  // namespace zarrpoint::v0
