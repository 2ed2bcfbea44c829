// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Answers to a word that was mistyped.

#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// The word of `known` that takes the fewest steps to be made of `word`, where a step adds, removes
/// or changes a character, or exchanges two neighbours. It is empty when that is more than half of
/// it.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

/// `; the nearest is "inspect". The commands are: inspect, cat`, the first part where there is one.
std::string suggestion(std::string_view word, std::string_view plural,
                       const std::vector<std::string_view>& known);

}  // namespace cli
