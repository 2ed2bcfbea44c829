// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/dtype.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE void record_ref::release() const noexcept {
  if (at_->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) at_->destroy(at_);
}

}  // namespace detail

ZARRPOINT_INLINE dtype dtype::of_record(detail::record_ref fields) noexcept {
  dtype out(dtype_kind::record);
  out.record_ = std::move(fields);
  return out;
}

ZARRPOINT_INLINE std::optional<dtype> parse_dtype(std::string_view name) noexcept {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (detail::facts_of(kind).name == name) return dtype(kind);
  }
  // The registry has a second name for these.
  if (name == "complex_float32") return dtype(dtype_kind::complex64);
  if (name == "complex_float64") return dtype(dtype_kind::complex128);
  return std::nullopt;
}

}}  // namespace zarrpoint::v0
