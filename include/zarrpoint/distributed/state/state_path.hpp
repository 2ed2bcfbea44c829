// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Places in a state, as text: keys and positions from the root on, joined by '/'. In a key '/' is
// written "~1" and '~' "~0" (RFC 6901); a key without characters is "~". The root is "".

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How many maps and lists may lie within each other; a deeper state is refused with
/// `resource_limit`. The readers of JSON take 64, and a document around the state takes some of
/// them.
inline constexpr std::size_t max_state_depth = 56;

void append_step(std::string& path, std::string_view key);

void append_step(std::string& path, std::size_t position);

/// The key that a step of a path stands for; nothing for text that is not a step.
std::optional<std::string> key_of_step(std::string_view step);

/// The position that a step of a path stands for; nothing for what is not a number as we write
/// them.
std::optional<std::size_t> position_of_step(std::string_view step);

/// Takes the first step off a path that is not empty.
std::string_view take_step(std::string_view& path);

/// For an error message: keys may have been read from a file.
std::string quoted_path(std::string_view path);

/// Where a walk through a state is. One text serves the whole walk.
class state_place {
 public:
  const std::string& path() const noexcept { return path_; }

  error failure(errc code, std::string_view what) const;

  /// What `f()` returns, called one step, a key or a position, further down. Errors:
  /// `resource_limit` where that is too deep.
  template <class Step, class F>
  auto within(const Step& step, F&& f) -> decltype(f()) {
    if (depth_ == max_state_depth)
      return failure(errc::resource_limit,
                     "nested more than " + std::to_string(max_state_depth) + " levels deep");
    const std::size_t length = path_.size();
    append_step(path_, step);
    ++depth_;
    auto out = f();
    --depth_;
    path_.resize(length);
    return out;
  }

 private:
  std::string path_;
  std::size_t depth_ = 0;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/state/impl/state_path_impl.hpp>
#endif
