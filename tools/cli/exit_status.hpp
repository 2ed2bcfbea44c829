// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cli {

/// What the command ends with; docs/cli.md and the man page say the same.
enum class exit_status : int {
  ok = 0,          ///< done; `verify` found no fault, `diff` no difference
  no = 1,          ///< the answer is no: `verify` found faults, `diff` differences
  failed = 2,      ///< bad usage, or something could not be read, written or understood
  unverified = 3,  ///< `verify` found no fault, but not all could be checked, or there was nothing
  stopped = 130    ///< interrupted (SIGINT), as shells have it
};

}  // namespace cli
