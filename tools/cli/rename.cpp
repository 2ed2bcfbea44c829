// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "rename.hpp"

#include <zarrpoint/checkpoint/options.hpp>

#include <cstddef>
#include <vector>

namespace cli {

namespace {

/// Each one can stand for as many texts as a name has characters.
constexpr std::size_t most_wildcards = 8;

using texts = std::vector<std::string_view>;

/// Characters of the wildcard that `pattern` begins with; 0 when it begins with none.
std::size_t wildcard(std::string_view pattern) {
  if (pattern.starts_with("**")) return 2;
  return pattern.starts_with('*') || pattern.starts_with('?') ? 1 : 0;
}

std::size_t wildcards(std::string_view pattern) {
  std::size_t count = 0;
  while (!pattern.empty()) {
    const std::size_t length = wildcard(pattern);
    count += length == 0 ? 0 : 1;
    pattern.remove_prefix(length == 0 ? 1 : length);
  }
  return count;
}

/// Whether `**/` begins here, which may stand for nothing at all.
bool whole_parts(std::string_view pattern, std::string_view at) {
  return at.starts_with("**/") && (at.data() == pattern.data() || at.data()[-1] == '/');
}

/// What each wildcard of `pattern` stands for in `name`, of which `at` and `rest` are left.
bool capture(std::string_view pattern, std::string_view at, std::string_view rest, texts& out) {
  if (at.empty()) return rest.empty();
  const std::size_t length = wildcard(at);
  if (length == 0)
    return rest.starts_with(at[0]) && capture(pattern, at.substr(1), rest.substr(1), out);
  const std::string_view behind = at.substr(length);
  const std::size_t least = at[0] == '?' ? 1 : 0;
  const std::size_t most = at[0] == '?' ? 1 : rest.size();
  out.emplace_back();
  if (whole_parts(pattern, at) && capture(pattern, behind.substr(1), rest, out)) return true;
  for (std::size_t count = least; count <= most && count <= rest.size(); ++count) {
    if (length == 1 && count != 0 && rest[count - 1] == '/') break;
    out.back() = rest.substr(0, count);
    const std::size_t kept = out.size();
    if (capture(pattern, behind, rest.substr(count), out)) return true;
    out.resize(kept);
  }
  out.pop_back();
  return false;
}

}  // namespace

zp::result<rename_rule> rename_rule::parse(std::string_view text) {
  const auto bad = [&](std::string_view what) {
    return zp::error{zp::errc::invalid_argument,
                     "--rename " + std::string(text) + ": " + std::string(what)};
  };
  const std::size_t at = text.rfind('=');
  if (at == text.npos || at == 0)
    return bad("expected FROM=TO, such as \"model=encoder\" or \"h.*.w=layers/*/w\"");
  rename_rule out{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
  if (wildcards(out.from) > most_wildcards) return bad("more than 8 wildcards");
  if (wildcards(out.to) > wildcards(out.from)) return bad("TO has more wildcards than FROM");
  return out;
}

std::optional<std::string> rename_rule::apply(std::string_view name) const {
  if (wildcards(from) == 0) {
    if (name == from) return to;
    if (name.size() <= from.size() || !name.starts_with(from) || name[from.size()] != '/')
      return std::nullopt;
    const std::string_view below = name.substr(from.size() + 1);
    return to.empty() ? std::string(below) : to + '/' + std::string(below);
  }
  texts found;
  if (!zp::detail::glob_match(from, name) || !capture(from, from, name, found)) return std::nullopt;
  std::string out;
  std::string_view rest = to;
  for (std::size_t next = 0; !rest.empty();) {
    const std::size_t length = wildcard(rest);
    if (length == 0) {
      out += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view text = found[next++];
    out += text;
    rest.remove_prefix(length);
    // `**/` that stood for nothing leaves nothing.
    if (text.empty() && length == 2 && rest.starts_with('/')) rest.remove_prefix(1);
  }
  return out;
}

}  // namespace cli
