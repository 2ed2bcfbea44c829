// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/shuffle.hpp>
#include <zarrpoint/codec/numcodecs/shuffle_codec.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<shuffle_codec> shuffle_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"elementsize"}));
  shuffle_codec out;
  const node* const found = reader.find("elementsize");
  if (found == nullptr || found->is_null()) return out;
  ZARRPOINT_TRY(size, reader.integer("elementsize", 0, std::numeric_limits<std::int32_t>::max()));
  out.element_size = static_cast<std::size_t>(*size);
  return out;
}

ZARRPOINT_INLINE node shuffle_codec::configuration() const {
  node out{node::object{}};
  if (element_size) out.set("elementsize", static_cast<std::int64_t>(*element_size));
  return out;
}

ZARRPOINT_INLINE result<shuffle_codec> shuffle_codec::resolve(const tensor_spec& decoded) const {
  shuffle_codec out = *this;
  if (!element_size) out.element_size = decoded.type.size();
  return out;
}

ZARRPOINT_INLINE result<std::size_t> shuffle_codec::encode(bytes_view from, mutable_bytes to,
                                                           codec_workspace&) const {
  ZARRPOINT_CHECK(check(from, to, errc::invalid_argument));
  if (!from.empty()) detail::byte_shuffle(to.first(from.size()), from, step());
  return from.size();
}

ZARRPOINT_INLINE result<std::size_t> shuffle_codec::decode(bytes_view from, mutable_bytes to,
                                                           codec_workspace&) const {
  ZARRPOINT_CHECK(check(from, to, errc::corrupt));
  if (!from.empty()) detail::byte_unshuffle(to.first(from.size()), from, step());
  return from.size();
}

ZARRPOINT_INLINE std::size_t shuffle_codec::step() const {
  const std::size_t size = element_size.value_or(default_size);
  return size == 0 ? 1 : size;
}

ZARRPOINT_INLINE result<void> shuffle_codec::check(bytes_view from, mutable_bytes to,
                                                   errc code) const {
  if (from.size() % step() != 0)
    return error{code, std::to_string(from.size()) +
                           " bytes are not a multiple of the element size " +
                           std::to_string(step())};
  if (from.size() > to.size())
    return error{errc::out_of_range, std::to_string(from.size()) + " bytes where " +
                                         std::to_string(to.size()) + " are expected"};
  return {};
}

}}  // namespace zarrpoint::v0
