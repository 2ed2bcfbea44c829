// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------------ concepts.hpp

ZARRPOINT_INLINE error wrong_shape(const tensor_spec& stored, std::string_view wanted) {
  return {errc::shape_mismatch,
          "stored shape is " + to_string(stored.shape) + ", wanted " + std::string(wanted)};
}

ZARRPOINT_INLINE error wrong_rank(std::size_t rank) {
  return {errc::invalid_argument,
          "array of rank " + std::to_string(rank) + "; at most " + std::to_string(max_rank)};
}

ZARRPOINT_INLINE error cannot_make(const tensor_spec& spec, std::size_t bytes,
                                   std::string_view why) {
  return {errc::resource_limit, "cannot make " + to_string(spec) + " (" + std::to_string(bytes) +
                                    " bytes): " + std::string(why)};
}

ZARRPOINT_INLINE result<void> expect_dtype(const tensor_spec& stored, dtype wanted) {
  if (stored.type == wanted) return {};
  return error{errc::dtype_mismatch, "stored dtype is " + std::string(to_string(stored.type)) +
                                         ", wanted " + std::string(to_string(wanted))};
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/memory/bodies.hpp>
#endif
