// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE error no_such_part() {
  return {errc::unsupported, "the codec does not offer this operation"};
}

}  // namespace detail

ZARRPOINT_INLINE result<any_codec> any_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_TRY(bound, self_->resolve(decoded));
  return any_codec(std::move(bound));
}

ZARRPOINT_INLINE const detail::erased_array_codec* any_codec::if_array_to_array() const {
  return as<detail::erased_array_codec>(codec_kind::array_to_array);
}

ZARRPOINT_INLINE const detail::erased_array_bytes_codec* any_codec::if_array_to_bytes() const {
  return as<detail::erased_array_bytes_codec>(codec_kind::array_to_bytes);
}

ZARRPOINT_INLINE const detail::erased_bytes_codec* any_codec::if_bytes_to_bytes() const {
  return as<detail::erased_bytes_codec>(codec_kind::bytes_to_bytes);
}

}}  // namespace zarrpoint::v0
