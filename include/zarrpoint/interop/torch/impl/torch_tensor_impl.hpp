// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/torch_dtype.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch { namespace detail {

ZARRPOINT_INLINE error tensor_corrupt(std::string what) {
  return {errc::corrupt, "tensor: " + std::move(what)};
}

/// A tuple of integers from 0.
ZARRPOINT_INLINE result<dims> read_torch_dims(const pickle_value& value, const char* what) {
  dims out;
  if (value.kind() != pickle_kind::tuple && value.kind() != pickle_kind::list)
    return tensor_corrupt(std::string("its ") + what + " is not a tuple");
  if (value.element_count() > max_rank)
    return error{errc::unsupported, "tensor of rank " + std::to_string(value.element_count())};
  for (std::size_t i = 0; i < value.element_count(); ++i) {
    const auto one = value.element(i).to_int64();
    if (!one || *one < 0)
      return tensor_corrupt(std::string("its ") + what + " must hold integers of 0 or more");
    out.push_back(*one);
  }
  return out;
}

ZARRPOINT_INLINE std::optional<storage_id> storage_id_of(const pickle_value& value) {
  if (value.kind() != pickle_kind::persistent) return std::nullopt;
  const pickle_value id = value.element(0);
  if (id.kind() != pickle_kind::tuple || id.element_count() < 5) return std::nullopt;
  const std::string* const kind = id.element(0).if_string();
  const std::string* const name = id.element(2).if_string();
  const auto count = id.element(4).to_uint64();
  if (kind == nullptr || *kind != "storage" || name == nullptr || !count ||
      id.element(1).kind() != pickle_kind::global)
    return std::nullopt;
  storage_id out{*name, id.element(1), *count, 0, *count};
  if (id.element_count() < 6 || id.element(5).is_none()) return out;
  const pickle_value view = id.element(5);  // name, offset, count
  const auto first = view.element_count() == 3 ? view.element(1).to_uint64() : std::nullopt;
  const auto part = view.element_count() == 3 ? view.element(2).to_uint64() : std::nullopt;
  if (!first || !part || *first > *count || *part > *count - *first) return std::nullopt;
  out.first = *first;
  out.part = *part;
  return out;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> storage_element_size(const pickle_value& type) {
  if (type.name() == "UntypedStorage") return 1;
  if (type.module() != "torch") return std::nullopt;
  if (const auto known = storage_named(type.name())) return known->size();
  if (type.name() == "QInt32Storage") return 4;
  for (const char* const name : {"QInt8", "QUInt8", "QUInt4x2", "QUInt2x4"})
    if (type.name() == std::string(name) + "Storage") return 1;
  return std::nullopt;
}

ZARRPOINT_INLINE result<void> read_torch_storage(const pickle_value& value, tensor_info& out) {
  if (value.kind() != pickle_kind::persistent) return tensor_corrupt("it has no storage");
  const auto id = storage_id_of(value);
  if (!id) return tensor_corrupt("its storage has no name");
  const bool is_untyped = id->type.name() == "UntypedStorage";
  if (!is_untyped) {
    const auto found = storage_named(id->type.name());
    if (!found || id->type.module() != "torch")
      return error{
          errc::unsupported,
          "tensor of a " + zarrpoint::detail::in_quotes(id->type.name()) + " is not known"};
    if (out.spec.type.valid() && out.spec.type != *found)
      return tensor_corrupt("its type differs from the type of its storage");
    out.spec.type = *found;
  }
  if (!out.spec.type.valid()) return tensor_corrupt("it has no type");
  const std::uint64_t size = is_untyped ? 1 : out.spec.type.size();
  ZARRPOINT_TRY(bytes, checked_mul<std::uint64_t>(id->count, size).at("tensor: its storage"));
  out.storage = id->name;
  out.storage_bytes = bytes;
  out.part_begin = id->first * size;  // no more than all
  out.part_end = out.part_begin + id->part * size;
  return {};
}

/// Strides and offset from elements to bytes; all elements must lie in the storage.
ZARRPOINT_INLINE result<void> place_torch_elements(std::uint64_t offset, const dims& strides,
                                                   tensor_info& out) {
  ZARRPOINT_TRY(count, element_count(out.spec.shape).at("tensor"));
  const std::size_t size = out.spec.type.size();
  out.strides = row_major_strides(out.spec.shape, size);
  if (count == 0) return {};  // PyTorch lets nothing lie anywhere
  ZARRPOINT_TRY(first, checked_mul<std::uint64_t>(offset, size).at("tensor: its offset"));
  const std::uint64_t part = out.part_end - out.part_begin;
  if (first > part) return tensor_corrupt("it lies outside its storage");
  out.offset = out.end = out.part_begin + first;
  for (std::size_t i = 0; i < strides.rank(); ++i) {
    if (out.spec.shape[i] == 1) continue;  // such a step is never made, and may be of any size
    ZARRPOINT_TRY(step, checked_mul<std::uint64_t>(static_cast<std::uint64_t>(strides[i]), size)
                            .at("tensor: its strides"));
    ZARRPOINT_TRY(
        reach, checked_mul<std::uint64_t>(step, static_cast<std::uint64_t>(out.spec.shape[i] - 1))
                   .at("tensor: its strides"));
    ZARRPOINT_TRY(end, checked_add<std::uint64_t>(out.end, reach).at("tensor: its strides"));
    if (end > out.part_end) return tensor_corrupt("it lies outside its storage");
    out.end = end;
    out.strides[i] = static_cast<index_t>(step);
  }
  if (size > out.part_end - out.end) return tensor_corrupt("it lies outside its storage");
  out.end += size;
  return {};
}

/// The last argument of a tensor, which PyTorch 1.13 and later write: `{"conj": True}`.
ZARRPOINT_INLINE result<void> read_torch_signs(const pickle_value& value, tensor_info& out) {
  if (value.is_none()) return {};
  if (value.kind() != pickle_kind::dict) return tensor_corrupt("its metadata are not a dict");
  for (std::size_t i = 0; i < value.member_count(); ++i) {
    const std::string* const key = value.key(i).if_string();
    // PyTorch asks whether the key is there, not for its value.
    if (key != nullptr && *key == "conj") {
      out.signs.conjugate = true;
    } else if (key != nullptr && *key == "neg") {
      out.signs.negative = true;
    } else {
      return error{errc::unsupported,
                   "tensor with metadata " + (key == nullptr ? "that are not known"
                                                             : zarrpoint::detail::in_quotes(*key))};
    }
  }
  const dtype type = out.spec.type;
  const bool has_signs =
      type.is_complex() || type.is_integer() || (type.is_floating() && type.scalar_size() > 1);
  if (out.signs.conjugate && !type.is_complex())
    return tensor_corrupt("it is the conjugate of elements that are not complex");
  if (out.signs.negative && !has_signs)
    return error{errc::unsupported,
                 "tensor that is a negative view of " + std::string(to_string(type))};
  return {};
}

/// Turns the sign of one scalar.
template <class T>
void negate(std::byte* at, bool is_integer) {
  T bits{};
  std::memcpy(&bits, at, sizeof(T));
  constexpr T sign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  bits = is_integer ? static_cast<T>(T{0} - bits) : static_cast<T>(bits ^ sign);
  std::memcpy(at, &bits, sizeof(T));
}

ZARRPOINT_INLINE void negate_scalar(std::byte* at, dtype type) {
  switch (type.scalar_size()) {
    case 1: return negate<std::uint8_t>(at, type.is_integer());
    case 2: return negate<std::uint16_t>(at, type.is_integer());
    case 4: return negate<std::uint32_t>(at, type.is_integer());
    default: return negate<std::uint64_t>(at, type.is_integer());
  }
}

ZARRPOINT_INLINE void apply_signs_along(const element_signs& signs, const mutable_host_view& to,
                                        std::size_t axis, std::byte* at) {
  if (axis < to.shape.rank()) {
    for (index_t i = 0; i < to.shape[axis]; ++i, at += to.strides[axis])
      apply_signs_along(signs, to, axis + 1, at);
    return;
  }
  if (signs.negative) negate_scalar(at, to.type);
  if (to.type.is_complex() && signs.negative != signs.conjugate)
    negate_scalar(at + to.type.scalar_size(), to.type);
}

ZARRPOINT_INLINE std::string global_name(const pickle_value& global) {
  std::string out(global.module());
  if (!out.empty()) out += '.';
  return out.append(global.name());
}

ZARRPOINT_INLINE std::optional<tensor_call> tensor_call_of(const pickle_value& value) {
  if (value.kind() != pickle_kind::call) return std::nullopt;
  tensor_call out{value.callable(), value.arguments()};
  const auto is_one = [&] {
    return out.function.name().starts_with("_rebuild_") &&
           (out.function.module() == "torch._utils" || out.function.module() == "torch._tensor");
  };
  if (!is_one()) return std::nullopt;
  constexpr int most_levels = 8;
  for (int level = 0; level < most_levels && is_one(); ++level) {
    const std::string_view name = out.function.name();
    const pickle_value given = out.arguments;
    const std::size_t count = given.element_count();
    if (name.starts_with("_rebuild_from_type") && count >= 4) {
      const pickle_value type = given.element(1);
      if (type.name() != "Parameter" && type.name() != "Tensor") out.subclass = type;
      out.states.push_back(given.element(3));
      out.function = given.element(0);
      out.arguments = given.element(2);
      continue;
    }
    const bool is_parameter = name.starts_with("_rebuild_parameter") && count >= 2;
    const bool is_copy = name == "_rebuild_device_tensor_from_cpu_tensor" && count == 4;
    if ((!is_parameter && !is_copy) || given.element(0).kind() != pickle_kind::call) break;
    if (is_parameter) out.requires_grad = given.element(1).to_bool().value_or(false);
    if (is_parameter && count > 3) out.states.push_back(given.element(3));
    if (is_copy) out.dtype = given.element(1);
    out.function = given.element(0).callable();
    out.arguments = given.element(0).arguments();
  }
  return out;
}

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE void apply_signs(const element_signs& signs, const mutable_host_view& to) {
  if (signs.any()) detail::apply_signs_along(signs, to, 0, to.data);
}

ZARRPOINT_INLINE bool is_tensor(const pickle_value& value) {
  const auto call = detail::tensor_call_of(value);
  return call && call->is_plain();
}

ZARRPOINT_INLINE result<tensor_info> describe_tensor(const pickle_value& value) {
  const auto call = detail::tensor_call_of(value);
  if (!call || !call->is_plain())
    return error{errc::invalid_argument, "the pickled value is not a tensor"};
  const pickle_value arguments = call->arguments;
  const std::size_t count = arguments.element_count();
  const bool has_type = call->is_of("_rebuild_tensor_v3");
  if (count < (has_type ? 7U : 4U)) return detail::tensor_corrupt("its description is incomplete");
  tensor_info out;
  if (has_type) {
    const pickle_value type = arguments.element(6);
    const auto found = type.module() == "torch" ? dtype_named(type.name()) : std::nullopt;
    if (!found)
      return error{errc::unsupported,
                   "tensor of type " + zarrpoint::detail::in_quotes(type.name())};
    out.spec.type = *found;
  }
  ZARRPOINT_CHECK(detail::read_torch_storage(arguments.element(0), out));
  const auto offset = arguments.element(1).to_uint64();
  if (!offset) return detail::tensor_corrupt("it has no offset");
  ZARRPOINT_TRY(shape, detail::read_torch_dims(arguments.element(2), "shape"));
  ZARRPOINT_TRY(strides, detail::read_torch_dims(arguments.element(3), "stride"));
  if (strides.rank() != shape.rank())
    return detail::tensor_corrupt("its shape and its strides differ in rank");
  out.spec.shape = shape;
  out.requires_grad =
      call->requires_grad || (count > 4 && arguments.element(4).to_bool().value_or(false));
  if (call->dtype && (call->dtype->module() != "torch" ||
                      dtype_named(call->dtype->name()) != std::optional(out.spec.type)))
    return error{errc::unsupported,
                 "tensor that is converted to " +
                     zarrpoint::detail::in_quotes(detail::global_name(*call->dtype))};
  ZARRPOINT_CHECK(detail::place_torch_elements(*offset, strides, out));
  const std::size_t metadata = has_type ? 7 : 6;
  if (count > metadata) ZARRPOINT_CHECK(detail::read_torch_signs(arguments.element(metadata), out));
  return out;
}

}  // namespace torch

}}  // namespace zarrpoint::v0
