// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What the reports of all saves tell, whatever the format.
struct save_summary {
  /// Options without effect, data types that hide leaves from other readers, files of others that
  /// could not be kept, and what could not be removed, in sentences. The same on all processes.
  std::vector<std::string> warnings{};
  /// What lay in a directory that was overwritten and was no part of its checkpoint: it is there
  /// still. Paths in the directory; those of directories end with "/". The same on all processes.
  std::vector<std::string> kept{};
  std::uint64_t bytes = 0;  ///< of the elements as stored, before the codecs
  double seconds = 0;       ///< from the call to the end, the commit included
  /// How long the caller's tensors had to stay as they were: until a save in the background had
  /// copied what it copies; all the time for `save`.
  double blocked_seconds = 0;
  bool plan_reused = false;  ///< that of the save before, by the `plan_cache` of the options
};

}}  // namespace zarrpoint::v0
