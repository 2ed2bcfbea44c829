// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <memory>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<std::unique_ptr<element_source>> no_source(const void*,
                                                                   const source_options&) {
  return error{errc::invalid_argument, "what the host can read is read in place"};
}

}  // namespace detail

ZARRPOINT_INLINE result<std::unique_ptr<element_source>> leaf::source(
    const source_options& how) const {
  return table_->source(value_, how);
}

}}  // namespace zarrpoint::v0
