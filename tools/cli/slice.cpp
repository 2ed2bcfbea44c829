// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "slice.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace cli {

namespace {

zp::error bad(std::string_view part, std::string_view why) {
  return {zp::errc::invalid_argument, "slice \"" + std::string(part) + "\": " + std::string(why)};
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t at = text.find(by);
    out.push_back(trimmed(text.substr(0, at)));
    if (at == text.npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::optional<zp::index_t> parse_index(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  zp::index_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What one axis keeps.
struct axis_range {
  zp::index_t offset = 0, count = 1, step = 1;
  bool is_index = false;
};

zp::result<axis_range> parse_axis(std::string_view text, zp::index_t extent) {
  axis_range out;
  if (text.find(':') == text.npos) {
    const auto index = parse_index(text);
    if (!index) return bad(text, "expected an index such as 3 or a range such as 0:3");
    if (*index >= extent || *index < -extent)
      return zp::error{zp::errc::out_of_range, "index " + std::to_string(*index) +
                                                   " is outside an axis of length " +
                                                   std::to_string(extent)};
    out.offset = *index < 0 ? *index + extent : *index;
    out.is_index = true;
    return out;
  }
  const auto parts = split(text, ':');
  if (parts.size() > 3) return bad(text, "more than two colons");
  zp::index_t bounds[3] = {0, extent, 1};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    const auto value = parse_index(parts[i]);
    if (!value) return bad(text, "a bound is not an integer");
    bounds[i] = *value;
    if (i == 2) continue;
    if (bounds[i] < 0) bounds[i] = bounds[i] < -extent ? 0 : bounds[i] + extent;
    bounds[i] = std::min(bounds[i], extent);
  }
  if (bounds[2] == 0) return bad(text, "a step of 0");
  if (bounds[2] < 0)
    return zp::error{zp::errc::unsupported,
                     "slice \"" + std::string(text) + "\": a negative step is not supported"};
  out.offset = bounds[0];
  out.step = bounds[2];
  out.count = bounds[1] > bounds[0] ? (bounds[1] - bounds[0] - 1) / bounds[2] + 1 : 0;
  return out;
}

}  // namespace

slice whole_slice(const zp::dims& shape) {
  slice out{zp::box::whole(shape), shape, shape};
  for (std::size_t i = 0; i < shape.rank(); ++i) out.axes[i] = static_cast<zp::index_t>(i);
  return out;
}

zp::result<slice> parse_slice(std::string_view text, const zp::dims& shape) {
  auto parts = split(text, ',');
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();  // "0," as Python allows it
  const auto dots = static_cast<std::size_t>(std::count(parts.begin(), parts.end(), "..."));
  if (dots > 1) return bad(text, "more than one \"...\"");
  const std::size_t given = parts.size() - dots;
  if (given > shape.rank())
    return bad(text, std::to_string(given) + " indices for " + std::to_string(shape.rank()) +
                         " dimensions");
  const std::vector<std::string_view> rest(shape.rank() - given, ":");
  const auto at = std::find(parts.begin(), parts.end(), "...");
  const auto place = dots == 1 ? parts.erase(at) : parts.end();
  parts.insert(place, rest.begin(), rest.end());
  slice out;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    ZARRPOINT_TRY(axis, parse_axis(parts[i], shape[i]));
    out.part.offset.push_back(axis.offset);
    out.part.shape.push_back(axis.count);
    out.part.step.push_back(axis.step);
    if (axis.is_index) continue;
    out.shape.push_back(axis.count);
    out.axes.push_back(static_cast<zp::index_t>(i));
  }
  return out;
}

}  // namespace cli
