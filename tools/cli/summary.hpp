// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "slice.hpp"
#include "source.hpp"

#include <string>

namespace cli {

/// The values of a part as numpy prints them: all of up to 1000, else the first and last three
/// along each axis. Only what is shown is read.
zp::result<std::string> summary_text(const source& from, std::size_t index, const slice& part);

}  // namespace cli
