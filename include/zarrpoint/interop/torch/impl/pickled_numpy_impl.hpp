// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/pickle/pickle_convert.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/pickled_numpy.hpp>
#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

ZARRPOINT_INLINE bool is_numpy_call(const pickle_value& value, std::string_view module,
                                    std::string_view name) {
  for (const std::string_view core : {"numpy.core.", "numpy._core."})
    if (value.is_call_of(std::string(core).append(module), name)) return true;
  return false;
}

/// The type of a numpy dtype of numbers or truth values.
ZARRPOINT_INLINE bool read_numpy_dtype(const pickle_value& value, numpy_array& out) {
  if (!value.is_call_of("numpy", "dtype") || value.arguments().element_count() == 0) return false;
  const std::string* code = value.arguments().element(0).if_string();
  if (code == nullptr) return false;
  constexpr std::pair<std::string_view, dtype_kind> known[] = {
      {"b1", dtype_kind::bool_},     {"i1", dtype_kind::int8},       {"i2", dtype_kind::int16},
      {"i4", dtype_kind::int32},     {"i8", dtype_kind::int64},      {"u1", dtype_kind::uint8},
      {"u2", dtype_kind::uint16},    {"u4", dtype_kind::uint32},     {"u8", dtype_kind::uint64},
      {"f2", dtype_kind::float16},   {"f4", dtype_kind::float32},    {"f8", dtype_kind::float64},
      {"c8", dtype_kind::complex64}, {"c16", dtype_kind::complex128}};
  for (const auto& [name, kind] : known)
    if (name == *code) out.spec.type = kind;
  if (!out.spec.type.valid() || value.state_count() > 1) return false;
  if (value.state_count() == 1) {
    if (value.state(0).element_count() < 2) return false;
    const std::string* order = value.state(0).element(1).if_string();
    out.big_endian = order != nullptr && *order == ">";
  }
  return true;
}

ZARRPOINT_INLINE bool read_numpy_shape(const pickle_value& value, dims& out) {
  if (value.kind() != pickle_kind::tuple || value.element_count() > max_rank) return false;
  for (std::size_t i = 0; i < value.element_count(); ++i) {
    const auto extent = value.element(i).to_int64();
    if (!extent || *extent < 0) return false;
    out.push_back(*extent);
  }
  return true;
}

ZARRPOINT_INLINE std::optional<numpy_array> read_numpy(const pickle_value& value,
                                                       std::uint64_t* copied) {
  numpy_array out;
  std::optional<pickle_value> elements;
  if (is_numpy_call(value, "multiarray", "scalar")) {
    if (value.arguments().element_count() != 2) return std::nullopt;
    if (!read_numpy_dtype(value.arguments().element(0), out)) return std::nullopt;
    elements = value.arguments().element(1);
  } else if (is_numpy_call(value, "multiarray", "_reconstruct")) {
    if (value.state_count() != 1 || value.state(0).element_count() != 5) return std::nullopt;
    const pickle_value state = value.state(0);  // version, shape, dtype, is_fortran, elements
    if (!read_numpy_shape(state.element(1), out.spec.shape)) return std::nullopt;
    if (!read_numpy_dtype(state.element(2), out)) return std::nullopt;
    out.column_major = state.element(3).to_bool().value_or(false);
    elements = state.element(4);
  } else if (is_numpy_call(value, "numeric", "_frombuffer")) {
    const pickle_value arguments = value.arguments();  // elements, dtype, shape, order
    if (arguments.element_count() != 4) return std::nullopt;
    if (!read_numpy_dtype(arguments.element(1), out)) return std::nullopt;
    if (!read_numpy_shape(arguments.element(2), out.spec.shape)) return std::nullopt;
    const std::string* order = arguments.element(3).if_string();
    out.column_major = order != nullptr && *order == "F";
    elements = arguments.element(0);
  }
  if (!elements) return std::nullopt;
  const auto expected = byte_count(out.spec);
  const auto plain = elements->if_bytes();
  if (plain && (!expected || plain->size() != *expected)) return std::nullopt;  // without a copy
  auto bytes = to_bytes(*elements);
  if (copied != nullptr && bytes) *copied = bytes->size();
  if (!bytes || !expected || bytes->size() != *expected) return std::nullopt;
  if (out.spec.type == dtype(dtype_kind::bool_) &&
      std::any_of(bytes->begin(), bytes->end(), [](std::byte b) { return b > std::byte{1}; }))
    return std::nullopt;
  out.elements = *std::move(bytes);
  const std::size_t scalar = out.spec.type.scalar_size();
  if (scalar > 1 && out.big_endian)
    zarrpoint::detail::byteswap_elements(out.elements, scalar);  // now little-endian
  if (out.column_major && out.spec.shape.rank() > 1) {
    host_view from = dense_view(std::as_const(out.elements).data(), out.spec);
    index_t stride = static_cast<index_t>(out.spec.type.size());
    for (std::size_t i = 0; i < out.spec.shape.rank(); ++i) {
      from.strides[i] = stride;
      stride *= std::max<index_t>(out.spec.shape[i], 1);
    }
    std::vector<std::byte> rows(out.elements.size());
    if (!rows.empty()) copy_elements(dense_view(rows.data(), out.spec), from);
    out.elements = std::move(rows);
  }
  return out;
}

ZARRPOINT_INLINE std::optional<node> number_of(const numpy_array& of) {
  const std::byte* at = of.elements.data();
  switch (of.spec.type.kind()) {
    case dtype_kind::bool_: return node(*at != std::byte{0});
    case dtype_kind::int8: return node(std::int64_t{static_cast<std::int8_t>(*at)});
    case dtype_kind::int16:
      return node(std::int64_t{static_cast<std::int16_t>(load_le<std::uint16_t>(at))});
    case dtype_kind::int32:
      return node(std::int64_t{static_cast<std::int32_t>(load_le<std::uint32_t>(at))});
    case dtype_kind::int64: return node(static_cast<std::int64_t>(load_le<std::uint64_t>(at)));
    case dtype_kind::uint8: return node(std::uint64_t{std::to_integer<unsigned>(*at)});
    case dtype_kind::uint16: return node(std::uint64_t{load_le<std::uint16_t>(at)});
    case dtype_kind::uint32: return node(std::uint64_t{load_le<std::uint32_t>(at)});
    case dtype_kind::uint64: return node(load_le<std::uint64_t>(at));
    case dtype_kind::float32: return node(double{std::bit_cast<float>(load_le<std::uint32_t>(at))});
    case dtype_kind::float64: return node(std::bit_cast<double>(load_le<std::uint64_t>(at)));
    default: return std::nullopt;
  }
}

}}}}  // namespace zarrpoint::v0::torch::detail
