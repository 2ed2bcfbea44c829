// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/numpy_cast.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE dtype numpy_number(char kind, std::size_t size) {
  const bool is_power = size == 1 || size == 2 || size == 4 || size == 8;
  if (kind == 'b' && size == 1) return dtype_kind::bool_;
  if ((kind == 'i' || kind == 'u') && is_power) return integer_of_size(kind == 'i', size);
  if (kind == 'f' && is_power && size > 1) return float_of_size(size);
  if (kind == 'c' && size == 8) return dtype_kind::complex64;
  if (kind == 'c' && size == 16) return dtype_kind::complex128;
  return {};
}

ZARRPOINT_INLINE result<filter_dtype> parse_filter_dtype(std::string_view text) {
  filter_dtype out{{}, false, std::string(text)};
  const std::optional<dtype> named = parse_dtype(text);
  if (named && is_numpy_number(*named)) {
    out.type = *named;
    return out;
  }
  std::string_view rest = text;
  const bool has_order = rest.starts_with('<') || rest.starts_with('>') || rest.starts_with('|');
  if (has_order) rest.remove_prefix(1);
  std::size_t size = 0;
  if (rest.size() > 1) {
    const auto [end, status] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), size);
    if (status == std::errc() && end == rest.data() + rest.size())
      out.type = numpy_number(rest.front(), size);
  }
  if (!out.type.valid())
    return error{errc::unsupported, "a filter cannot work on elements of type " + in_quotes(text)};
  out.swapped = text.front() == '>' && out.type.scalar_size() > 1;
  return out;
}

ZARRPOINT_INLINE result<std::optional<filter_dtype>> read_filter_dtype(
    const configuration_reader& reader, std::string_view key) {
  const node* const found = reader.find(key);
  if (found == nullptr || found->is_null()) return std::optional<filter_dtype>();
  ZARRPOINT_TRY(text, reader.text(key));
  ZARRPOINT_TRY(type, parse_filter_dtype(*text).at(in_quotes(key)));
  return std::optional<filter_dtype>(std::move(type));
}

ZARRPOINT_INLINE result<tensor_spec> viewed_spec(const tensor_spec& chunk, const dtype& as) {
  ZARRPOINT_TRY(bytes, byte_count(chunk));
  if (chunk.type.size() == 0)
    return error{errc::unsupported, "a filter needs elements of a fixed size"};
  if (chunk.type.size() == as.size()) return tensor_spec{as, chunk.shape};
  if (bytes % as.size() != 0)
    return error{errc::invalid_argument, "a chunk of " + std::to_string(bytes) +
                                             " bytes is not a whole number of elements of type " +
                                             std::string(to_string(as))};
  return tensor_spec{as, {static_cast<index_t>(bytes / as.size())}};
}

ZARRPOINT_INLINE result<std::byte*> filter_memory::take(buffer& held, std::size_t bytes) {
  if (held.size() < bytes) {
    held = {};
    ZARRPOINT_TRY(grown, buffer::allocate(bytes, *resource));
    held = std::move(grown);
  }
  return held.bytes().data();
}

ZARRPOINT_INLINE result<host_view> dense_elements(const host_view& view, const filter_dtype& as,
                                                  codec_workspace& scratch) {
  ZARRPOINT_TRY(bytes, byte_count(view.spec()));
  const tensor_spec run{as.type, {static_cast<index_t>(bytes / as.type.size())}};
  if (is_dense(view) && !as.swapped) return dense_view(view.data, run);
  auto& memory = scratch.state<filter_memory>();
  ZARRPOINT_TRY(data, memory.take(memory.in, bytes));
  copy_elements(dense_view(data, view.spec()), view);
  if (as.swapped) byteswap_elements({data, bytes}, as.type.scalar_size());
  return dense_view(std::as_const(data), run);
}

ZARRPOINT_INLINE void tidy_elements(mutable_bytes bytes, const dtype& type) {
  if (type == dtype_kind::bool_) {
    for (std::byte& b : bytes) b = b == std::byte{0} ? b : std::byte{1};
  } else if (type.is_below_byte()) {
    for (std::byte& b : bytes) b &= static_cast<std::byte>((1U << type.bits()) - 1);
  }
}

ZARRPOINT_INLINE result<filter_types> filter_types::resolve(const tensor_spec& chunk) const {
  filter_types out = *this;
  if (!out.decoded) {
    if (!is_numpy_number(chunk.type))
      return error{errc::unsupported, "a filter cannot work on elements of type " +
                                          std::string(to_string(chunk.type))};
    out.decoded = filter_dtype{chunk.type, false, std::string(to_string(chunk.type))};
  }
  if (!out.encoded) out.encoded = filter_dtype{out.decoded->type, false, out.decoded->text};
  ZARRPOINT_CHECK(viewed_spec(chunk, out.decoded->type));
  return out;
}

ZARRPOINT_INLINE tensor_spec filter_types::encoded_spec(const tensor_spec& chunk) const {
  const result<tensor_spec> seen = viewed_spec(chunk, decoded->type);
  return {encoded->type, seen ? seen->shape : chunk.shape};
}

ZARRPOINT_INLINE result<std::vector<std::byte>> filter_types::encode_fill(
    bytes_view fill, const tensor_spec& chunk) const {
  if (fill.size() != chunk.type.size() || decoded->type.size() != fill.size())
    return error{errc::unsupported,
                 "the filter changes the element type, so it cannot be applied to the fill value"};
  std::vector<std::byte> out(encoded->type.size());
  ZARRPOINT_CHECK(numpy_cast(dense_view(out.data(), {encoded->type, {1}}),
                             dense_view(fill.data(), {decoded->type, {1}})));
  return out;
}

ZARRPOINT_INLINE result<void> run_filter(const mutable_host_view& to, const filter_dtype& made,
                                         const host_view& from, const filter_dtype& seen,
                                         codec_workspace& scratch, filter_step f) {
  ZARRPOINT_TRY(source, dense_elements(from, seen, scratch));
  ZARRPOINT_TRY(bytes, byte_count(to.spec()));
  const bool in_place = is_dense(to);
  std::byte* data = to.data;
  if (!in_place) {
    auto& memory = scratch.state<filter_memory>();
    ZARRPOINT_TRY(taken, memory.take(memory.out, bytes));
    data = taken;
  }
  const index_t count = static_cast<index_t>(bytes / made.type.size());
  const mutable_host_view target = dense_view(data, tensor_spec{made.type, {count}});
  ZARRPOINT_CHECK(f(target, source));
  if (made.swapped) byteswap_elements({data, bytes}, made.type.scalar_size());
  if (made.type != to.type) tidy_elements({data, bytes}, to.type);
  if (!in_place) copy_elements(to, dense_view(std::as_const(data), to.spec()));
  return {};
}

}}}  // namespace zarrpoint::v0::detail
