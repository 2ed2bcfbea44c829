// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/posix.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Tells a reader whether to look again at what a path names, because a save was replacing it
/// meanwhile. What it looked for was not there, or was of two saves.
class path_watch {
 public:
  path_watch() = default;
  /// Before the first look, so that a second one is asked for only where something else has the
  /// path since.
  explicit path_watch(const std::string& path);

  /// Call it after each look that found nothing. False when the last one was at what has the path
  /// now, and when nothing has had it for a few milliseconds. So long it may take a save where
  /// names cannot be exchanged.
  bool look_again(const std::string& path);

  /// Call it after each look that found what does not fit together. Nothing is waited for.
  bool is_other(const std::string& path);

 private:
  static constexpr int most_looks = 1000;
  static constexpr int most_waits = 3;

  unique_fd named_;  ///< what had the path before the last look; open, so that it stays unique
  int looks_ = 0;
  int waits_ = 0;
};

}}}  // namespace zarrpoint::v0::detail
