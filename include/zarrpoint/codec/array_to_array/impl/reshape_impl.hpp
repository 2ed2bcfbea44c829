// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/reshape.hpp>
#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Counts the text that copies of strings will hold.
ZARRPOINT_INLINE result<void> charge_copies(const host_view& strings, codec_workspace& scratch) {
  if (!strings.type.is_variable()) return {};
  return for_each_string<const std::string>(
      strings, [&](const std::string& text) { return scratch.charge_text(text.size()); });
}

}  // namespace detail

ZARRPOINT_INLINE result<reshape_codec> reshape_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"shape"}));
  const node* const found = reader.find("shape");
  const node::array* const list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr || list->size() > max_rank)
    return error{errc::invalid_argument, "\"shape\" is not a list of extents"};
  reshape_codec out;
  index_t last_axis = -1;
  std::size_t unknown = 0;
  for (const node& one : *list) {
    ZARRPOINT_TRY(made, read_extent(one, last_axis));
    if (!made.axes && made.size < 0) ++unknown;
    out.shape.push_back(std::move(made));
  }
  if (unknown > 1) return error{errc::invalid_argument, "\"shape\" has more than one -1"};
  return out;
}

ZARRPOINT_INLINE node reshape_codec::configuration() const {
  node::array list;
  for (const extent& one : shape) {
    if (!one.axes) {
      list.emplace_back(one.size);
      continue;
    }
    node::array axes;
    for (const index_t axis : *one.axes) axes.emplace_back(axis);
    list.emplace_back(std::move(axes));
  }
  node out{node::object{}};
  out.set("shape", std::move(list));
  return out;
}

ZARRPOINT_INLINE result<reshape_codec> reshape_codec::resolve(const tensor_spec& decoded) const {
  reshape_codec out = *this;
  ZARRPOINT_TRY(made, reshaped(decoded.shape));
  out.resolved = made;
  return out;
}

ZARRPOINT_INLINE std::optional<host_view> reshape_codec::borrow(const host_view& decoded) const {
  if (!is_dense(decoded)) return std::nullopt;
  return dense_view(decoded.data, encoded_spec(decoded.spec()));
}

ZARRPOINT_INLINE std::optional<mutable_host_view> reshape_codec::target(
    const mutable_host_view& into) const {
  if (!is_dense(into)) return std::nullopt;
  return dense_view(into.data, encoded_spec(into.spec()));
}

ZARRPOINT_INLINE result<void> reshape_codec::encode(const host_view& from,
                                                    const mutable_host_view& to,
                                                    codec_workspace& scratch) const {
  return copy(to, from, scratch);
}

ZARRPOINT_INLINE result<void> reshape_codec::decode(const host_view& from,
                                                    const mutable_host_view& to,
                                                    codec_workspace& scratch) const {
  return copy(to, from, scratch);
}

ZARRPOINT_INLINE result<std::vector<std::byte>> reshape_codec::encode_fill(
    bytes_view fill, const tensor_spec&) const {
  return std::vector<std::byte>(fill.begin(), fill.end());
}

ZARRPOINT_INLINE result<reshape_codec::extent> reshape_codec::read_extent(const node& value,
                                                                          index_t& last_axis) {
  const error wrong{errc::invalid_argument,
                    "\"shape\" may hold extents and lists of rising axes only"};
  if (const auto number = value.to_int64()) {
    if (*number == -1 || *number > 0) return extent{*number, std::nullopt};
    return wrong;
  }
  const node::array* const list = value.if_array();
  if (list == nullptr) return wrong;
  std::vector<index_t> axes;
  for (const node& one : *list) {
    const auto axis = one.to_int64();
    if (!axis || *axis <= last_axis || *axis >= static_cast<index_t>(max_rank)) return wrong;
    last_axis = *axis;
    axes.push_back(*axis);
  }
  return extent{0, std::move(axes)};
}

ZARRPOINT_INLINE result<dims> reshape_codec::reshaped(const dims& from) const {
  const error wrong{errc::invalid_argument,
                    "the shape " + to_string(from) + " cannot be reshaped by this \"shape\""};
  ZARRPOINT_TRY(total, element_count(from));
  dims out;
  std::optional<std::size_t> unknown;
  for (const extent& one : shape) {
    index_t size = one.size;
    if (one.axes) {
      dims taken;
      for (const index_t axis : *one.axes) {
        if (axis >= static_cast<index_t>(from.rank())) return wrong;
        taken.push_back(from[static_cast<std::size_t>(axis)]);
      }
      ZARRPOINT_TRY(product, element_count(taken));
      size = product;
    } else if (size < 0) {
      unknown = out.rank();
      size = 1;
    }
    out.push_back(size);
  }
  if (unknown) {
    ZARRPOINT_TRY(known, element_count(out));
    if (known == 0 || total % known != 0) return wrong;
    out[*unknown] = total / known;
  }
  ZARRPOINT_TRY(made, element_count(out));
  if (made != total) return wrong;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!keeps_place(i, from, out)) return wrong;
  }
  return out;
}

ZARRPOINT_INLINE bool reshape_codec::keeps_place(std::size_t i, const dims& from,
                                                 const dims& made) const {
  if (!shape[i].axes || shape[i].axes->empty()) return true;
  const auto first = static_cast<std::size_t>(shape[i].axes->front());
  const auto after = static_cast<std::size_t>(shape[i].axes->back()) + 1;
  return same_count(from, 0, first, made, 0, i) &&
         same_count(from, after, from.rank(), made, i + 1, made.rank());
}

ZARRPOINT_INLINE bool reshape_codec::same_count(const dims& a, std::size_t a_from, std::size_t a_to,
                                                const dims& b, std::size_t b_from,
                                                std::size_t b_to) {
  const auto part = [](const dims& of, std::size_t from, std::size_t to) {
    return element_count(dims::from_range(of.begin() + from, of.begin() + to));
  };
  const result<index_t> x = part(a, a_from, a_to);
  const result<index_t> y = part(b, b_from, b_to);
  return x && y && *x == *y;
}

ZARRPOINT_INLINE result<void> reshape_codec::copy(const mutable_host_view& to,
                                                  const host_view& from,
                                                  codec_workspace& scratch) const {
  ZARRPOINT_CHECK(detail::charge_copies(from, scratch));
  if (is_dense(to)) {
    copy_elements(dense_view(to.data, from.spec()), from);
    return {};
  }
  if (is_dense(from)) {
    copy_elements(to, dense_view(from.data, to.spec()));
    return {};
  }
  if (to.type.is_variable())
    return error{errc::unsupported,
                 "strings can be reshaped only where one side is contiguous in memory"};
  ZARRPOINT_TRY(bytes, byte_count(from.spec()));
  ZARRPOINT_TRY(held, buffer::allocate(bytes, scratch.resource()));
  copy_elements(dense_view(held.bytes().data(), from.spec()), from);
  copy_elements(to, dense_view(std::as_const(held).bytes().data(), to.spec()));
  return {};
}

}}  // namespace zarrpoint::v0
