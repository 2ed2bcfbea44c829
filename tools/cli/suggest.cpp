// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "suggest.hpp"

#include <algorithm>
#include <cstddef>

namespace cli {

namespace {

/// Beyond that many characters a word is not a mistyped one, and the table would be large.
constexpr std::size_t longest_word = 64;

/// Optimal string alignment.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      steps[i][j] =
          std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  if (word.size() > longest_word) return best;
  std::size_t fewest = word.size() / 2 + 1;
  for (const std::string_view each : known) {
    const std::size_t steps = distance(word, each);
    if (steps >= fewest) continue;
    fewest = steps;
    best = each;
  }
  return best;
}

std::string suggestion(std::string_view word, std::string_view plural,
                       const std::vector<std::string_view>& known) {
  const std::string_view best = nearest(word, known);
  std::string out = best.empty() ? ". " : "; the nearest is \"" + std::string(best) + "\". ";
  out += "The " + std::string(plural) + " are:";
  for (std::size_t i = 0; i < known.size(); ++i)
    out += (i == 0 ? " " : ", ") + std::string(known[i]);
  return out;
}

}  // namespace cli
