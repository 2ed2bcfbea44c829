// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/transpose.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/config.hpp>

#include <array>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ----------------------------------------------------------------------------------- transpose.hpp

ZARRPOINT_INLINE void transpose_codec::fields(configuration_fields& all) {
  if (!all.reads()) {
    if (given != form::permutation) return all.put("order", given == form::c ? "C" : "F");
    return all.put("order", json::array(order.begin(), order.end()));
  }
  all.need("order");
  const json* const found = all.find("order");
  if (found == nullptr) return;
  if (const std::string* const text = found->if_string()) {
    if (*text == "C") given = form::c;
    if (*text == "F") given = form::f;
    if (given != form::permutation) return;
  }
  const json::array* const axes = found->if_array();
  if (axes == nullptr || axes->size() > max_rank) return all.fail(not_a_permutation());
  for (const json& axis : *axes) order.push_back(axis.to_int64().value_or(-1));
  if (!is_permutation(order)) all.fail(not_a_permutation());
}

ZARRPOINT_INLINE result<transpose_codec> transpose_codec::resolve(
    const tensor_spec& decoded) const {
  const std::size_t rank = decoded.shape.rank();
  if (given == form::permutation) {
    if (order.rank() == rank && is_permutation(order)) return *this;
    return error{
        errc::invalid_argument,
        "order " + to_string(order) + " is not a permutation of the axes of " + to_string(decoded)};
  }
  transpose_codec out;
  for (std::size_t i = 0; i < rank; ++i)
    out.order.push_back(static_cast<index_t>(given == form::c ? i : rank - 1 - i));
  return out;
}

ZARRPOINT_INLINE tensor_spec transpose_codec::encoded_spec(const tensor_spec& decoded) const {
  return {decoded.type, permuted(decoded.shape)};
}

ZARRPOINT_INLINE host_view transpose_codec::encode_view(const host_view& decoded) const {
  host_view out = decoded;
  out.shape = permuted(decoded.shape);
  out.strides = permuted(decoded.strides);
  return out;
}

ZARRPOINT_INLINE mutable_host_view
transpose_codec::decode_view(const mutable_host_view& into) const {
  mutable_host_view out = into;
  out.shape = permuted(into.shape);
  out.strides = permuted(into.strides);
  return out;
}

ZARRPOINT_INLINE dims transpose_codec::permuted(const dims& of) const {
  dims out;
  for (const index_t axis : order) out.push_back(of[static_cast<std::size_t>(axis)]);
  return out;
}

ZARRPOINT_INLINE bool transpose_codec::is_permutation(const dims& order) {
  std::array<bool, max_rank> seen{};
  for (const index_t axis : order) {
    if (axis < 0 || axis >= static_cast<index_t>(order.rank())) return false;
    if (std::exchange(seen[static_cast<std::size_t>(axis)], true)) return false;
  }
  return true;
}

ZARRPOINT_INLINE error transpose_codec::not_a_permutation() {
  return {errc::invalid_argument, "\"order\" is not a permutation of axes"};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#endif
