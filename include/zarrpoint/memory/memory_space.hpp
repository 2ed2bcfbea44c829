// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>

namespace zarrpoint::inline v0 {

/// A place where bytes live. A model is a small copyable handle: stateless for the host, a device
/// number and a stream for a GPU. Staging in save and load is written once, against this concept.
///
/// - `host_accessible`: the host may touch the bytes itself, so that staging is skipped;
/// - `event`: what a producer hands over with its memory; `wait` returns once it has happened;
/// - `copy_to_host`, `copy_from_host`: a run of bytes either way, complete when the event they
///   return has been waited for;
/// - `pin`, `unpin`: registers host memory so that copies run at the link's speed; may do nothing.
template <class S>
concept memory_space = std::copyable<S> && std::default_initializable<typename S::event> &&
    std::copyable<typename S::event> &&
    requires(const S& space, const typename S::event& event, std::byte* device,
             const std::byte* source, mutable_bytes host, bytes_view host_source) {
  { S::host_accessible } -> std::convertible_to<bool>;
  { S::name } -> std::convertible_to<const char*>;
  { space.wait(event) } -> std::same_as<result<void>>;
  { space.copy_to_host(host, source) } -> std::same_as<result<typename S::event>>;
  { space.copy_from_host(device, host_source) } -> std::same_as<result<typename S::event>>;
  { space.pin(host) } -> std::same_as<result<void>>;
  {space.unpin(host)};
};

/// The memory of this process.
struct host_space {
  struct event {};
  static constexpr bool host_accessible = true;
  static constexpr const char* name = "host";

  result<void> wait(const event&) const { return {}; }
  result<event> copy_to_host(mutable_bytes to, const std::byte* from) const {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
    return event{};
  }
  result<event> copy_from_host(std::byte* to, bytes_view from) const {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return event{};
  }
  result<void> pin(mutable_bytes) const { return {}; }
  void unpin(mutable_bytes) const {}
};
static_assert(memory_space<host_space>);

}  // namespace zarrpoint::inline v0
