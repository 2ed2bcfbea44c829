// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_input.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace torch::detail {

ZARRPOINT_INLINE error broken_pickle(std::string what) { return {errc::corrupt, std::move(what)}; }

ZARRPOINT_INLINE result<bytes_view> pickle_input::take(std::uint64_t size) {
  if (!has(size)) return broken_pickle("it is cut short");
  const bytes_view out = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(out.size());
  return out;
}

ZARRPOINT_INLINE result<std::string_view> pickle_input::line() {
  const std::string_view text = as_text(rest_);
  const std::size_t end = text.find('\n');
  is_short_ = end == text.npos;
  if (is_short_) return broken_pickle("it is cut short");
  rest_ = rest_.subspan(end + 1);
  return text.substr(0, end);
}

}}}  // namespace zarrpoint::v0::torch::detail
