// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <concepts>

namespace zarrpoint { inline namespace v0 {

/// A place where bytes live. A model is a small copyable handle: stateless for the host, a device
/// and one of its streams for a GPU (see `device_space`).
///
/// - `host_accessible`: the host may touch the bytes itself, so that nothing is staged;
/// - `name`: for messages;
/// - `event`: what a producer hands over with its memory; `wait` returns once it has happened. A
///   default one has always happened.
template <class S>
concept memory_space = std::copyable<S> && std::default_initializable<typename S::event> &&
    std::copyable<typename S::event> && requires(const S& space, const typename S::event& event) {
  { S::host_accessible } -> std::convertible_to<bool>;
  { S::name } -> std::convertible_to<const char*>;
  { space.wait(event) } -> std::same_as<result<void>>;
};

/// The memory of this process.
struct host_space {
  struct event {};
  static constexpr bool host_accessible = true;
  static constexpr const char* name = "host";

  result<void> wait(const event&) const { return {}; }
};
static_assert(memory_space<host_space>);

}}  // namespace zarrpoint::v0
