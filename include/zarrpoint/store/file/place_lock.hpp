// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/posix.hpp>

#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The lock of a directory that one process at a time works in: on the file `lock` of a folder in
/// it. It ends with the object, and with the process.
class place_lock {
 public:
  /// Makes the directory and the folder where they are missing, and removes what killed writers
  /// left in the directory. Errors: `unavailable` with the process that has it; `unsupported` on
  /// file systems without locks that all machines see; `io`.
  static result<place_lock> take(const std::string& directory, const char* folder);

  /// What could not be removed, and why, in sentences.
  const std::vector<std::string>& uncleaned() const noexcept { return uncleaned_; }

 private:
  unique_fd fd_;
  std::vector<std::string> uncleaned_;
};

}}}  // namespace zarrpoint::v0::detail
