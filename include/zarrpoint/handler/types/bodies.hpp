// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/types/scalar.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// -------------------------------------------------------------------------------------- scalar.hpp

ZARRPOINT_INLINE host_view builtin_handler<std::string>::view(const std::string& value) {
  return {reinterpret_cast<const std::byte*>(&value), type, {}, {}, {}, {}};
}

ZARRPOINT_INLINE result<std::string> builtin_handler<std::string>::make(const tensor_spec& stored,
                                                                        const place<space>&) {
  ZARRPOINT_CHECK(expect_dtype(stored, type));
  if (stored.shape.rank() != 0) return wrong_shape(stored, "one string, []");
  return std::string();
}

ZARRPOINT_INLINE mutable_host_view builtin_handler<std::string>::writable(std::string& target) {
  return {reinterpret_cast<std::byte*>(&target), type, {}, {}, {}, {}};
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/base/bodies.hpp>
#endif
