// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// `torch::Tensor` of libtorch (PyTorch's C++ library), in host memory. Files of `torch.save` need
// no libtorch: those are <zarrpoint/torch.hpp>'s.

#include <zarrpoint/handler/base/concepts.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

struct torch_scalar {
  int code;  ///< of `c10::ScalarType`, whose order is that of the serialisation format
  dtype_kind type;
};

/// Older versions have the first rows only, and use some of the later codes for no type.
inline constexpr std::array torch_scalars{torch_scalar{0, dtype_kind::uint8},
                                          torch_scalar{1, dtype_kind::int8},
                                          torch_scalar{2, dtype_kind::int16},
                                          torch_scalar{3, dtype_kind::int32},
                                          torch_scalar{4, dtype_kind::int64},
                                          torch_scalar{5, dtype_kind::float16},
                                          torch_scalar{6, dtype_kind::float32},
                                          torch_scalar{7, dtype_kind::float64},
                                          torch_scalar{8, dtype_kind::complex_float16},
                                          torch_scalar{9, dtype_kind::complex64},
                                          torch_scalar{10, dtype_kind::complex128},
                                          torch_scalar{11, dtype_kind::bool_},
                                          torch_scalar{15, dtype_kind::bfloat16},
                                          torch_scalar{23, dtype_kind::float8_e5m2},
                                          torch_scalar{24, dtype_kind::float8_e4m3fn},
                                          torch_scalar{25, dtype_kind::float8_e5m2fnuz},
                                          torch_scalar{26, dtype_kind::float8_e4m3fnuz},
                                          torch_scalar{27, dtype_kind::uint16},
                                          torch_scalar{28, dtype_kind::uint32},
                                          torch_scalar{29, dtype_kind::uint64}};

}  // namespace detail

/// Any strided tensor of the CPU, of any dtype and rank, saved and filled where it lies. Errors of
/// one that is not a plain memory of the host: `invalid_argument` for an undefined, sparse or
/// lazily conjugated one and for one of another device; `unsupported` for quantised elements. As a
/// target it is written into past autograd, as `tensor.data()` is.
template <>
struct type_handler<at::Tensor> {
  static constexpr std::string_view typestr = detail::array_kind;
  static constexpr auto aliases = detail::array_aliases;
  using space = host_space;
  static constexpr bool is_view =
      true;  // a handle: a leaf keeps its copy, which shares the elements

  static result<tensor_spec> spec(const at::Tensor& value) {
    if (!value.defined()) return error{errc::invalid_argument, "the torch::Tensor is undefined"};
    if (!value.device().is_cpu())
      return error{errc::invalid_argument, "the torch::Tensor is on " + value.device().str() +
                                               "; take tensor.cpu(), or for CUDA "
                                               "zarrpoint::dlpack::cuda_tensor of at::toDLPack"};
    if (value.layout() != c10::kStrided)
      return error{errc::invalid_argument, "a torch::Tensor that is not strided; take to_dense()"};
    if (value.is_conj() || value.is_neg())
      return error{errc::invalid_argument,
                   "a torch::Tensor whose conjugation or negation is pending; take "
                   "resolve_conj().resolve_neg()"};
    const dtype type = type_of(value);
    if (!type.valid())
      return error{errc::unsupported, std::string("elements of torch's type ") +
                                          c10::toString(value.scalar_type()) +
                                          " have no dtype here"};
    if (static_cast<std::size_t>(value.dim()) > max_rank)
      return detail::wrong_rank(static_cast<std::size_t>(value.dim()));
    return tensor_spec{type, dims::from_range(value.sizes().begin(), value.sizes().end())};
  }
  static host_view view(const at::Tensor& value) {
    return {static_cast<const std::byte*>(value.data_ptr()),
            type_of(value),
            dims::from_range(value.sizes().begin(), value.sizes().end()),
            strides(value),
            {},
            {}};
  }
  static mutable_host_view writable(at::Tensor& target) {
    return {static_cast<std::byte*>(target.data_ptr()),
            type_of(target),
            dims::from_range(target.sizes().begin(), target.sizes().end()),
            strides(target),
            {},
            {}};
  }
  /// Contiguous, on the CPU, and without a gradient. Errors: `unsupported` for elements that this
  /// libtorch does not have.
  static result<at::Tensor> make(const tensor_spec& stored, const place<space>&) {
    for (const detail::torch_scalar& each : detail::torch_scalars) {
      if (stored.type != each.type || !is_known(each.code)) continue;
      at::Tensor made;
      ZARRPOINT_CHECK(detail::allocate_guarded(stored, [&] {
        const std::vector<std::int64_t> sizes(stored.shape.begin(), stored.shape.end());
        made = at::empty(sizes, at::TensorOptions().dtype(static_cast<c10::ScalarType>(each.code)));
      }));
      return made;
    }
    return error{errc::unsupported, "this libtorch has no elements of " +
                                        std::string(to_string(stored.type)) +
                                        "; load another type, or cast"};
  }

 private:
  static bool is_known(int code) { return code < static_cast<int>(c10::ScalarType::Undefined); }
  static dtype type_of(const at::Tensor& value) {
    const auto code = static_cast<int>(value.scalar_type());
    for (const detail::torch_scalar& each : detail::torch_scalars) {
      if (each.code == code && is_known(code)) return each.type;
    }
    return {};
  }
  static dims strides(const at::Tensor& value) {
    dims out = dims::from_range(value.strides().begin(), value.strides().end());
    for (index_t& stride : out) stride *= static_cast<index_t>(value.element_size());
    return out;
  }
};

}}  // namespace zarrpoint::v0
