// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// `Ort::Value` of ONNX Runtime, a tensor in host memory, and its handles `Ort::UnownedValue` and
// `Ort::ConstValue`.
//
// What may fail is asked of the C API, whose functions return a status: those of the C++ API throw,
// or abort under ORT_NO_EXCEPTIONS.

#include <zarrpoint/handler/base/concepts.hpp>

#if __has_include(<onnxruntime_cxx_api.h>)
#include <onnxruntime_cxx_api.h>
#else
#include <onnxruntime/onnxruntime_cxx_api.h>
#endif

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

namespace zarrpoint { inline namespace v0 {

namespace onnxruntime {

/// A value of ONNX Runtime: the one that owns its memory, and the two handles that do not.
template <class V>
concept value = std::same_as<V, Ort::Value> || std::same_as<V, Ort::UnownedValue> ||
    std::same_as<V, Ort::ConstValue>;

}  // namespace onnxruntime

namespace detail {

/// By the codes of `ONNXTensorElementDataType`, which no version changes; older ones have the first
/// of them only. Invalid: no elements, and strings.
inline constexpr std::array<dtype, 21> ort_elements{dtype{},
                                                    dtype_kind::float32,
                                                    dtype_kind::uint8,
                                                    dtype_kind::int8,
                                                    dtype_kind::uint16,
                                                    dtype_kind::int16,
                                                    dtype_kind::int32,
                                                    dtype_kind::int64,
                                                    dtype{},
                                                    dtype_kind::bool_,
                                                    dtype_kind::float16,
                                                    dtype_kind::float64,
                                                    dtype_kind::uint32,
                                                    dtype_kind::uint64,
                                                    dtype_kind::complex64,
                                                    dtype_kind::complex128,
                                                    dtype_kind::bfloat16,
                                                    dtype_kind::float8_e4m3fn,
                                                    dtype_kind::float8_e4m3fnuz,
                                                    dtype_kind::float8_e5m2,
                                                    dtype_kind::float8_e5m2fnuz};

/// Errors: `code` with ONNX Runtime's words. The status is released.
inline result<void> ort_done(OrtStatus* status, errc code = errc::invalid_argument) {
  if (status == nullptr) return {};
  error failure{code, std::string("ONNX Runtime: ") + Ort::GetApi().GetErrorMessage(status)};
  Ort::GetApi().ReleaseStatus(status);
  return failure;
}

/// Errors: `invalid_argument` for what is not a tensor.
inline result<void> expect_ort_tensor(const OrtValue* value) {
  if (value == nullptr) return error{errc::invalid_argument, "the Ort::Value is empty"};
  int is_tensor = 0;
  ZARRPOINT_CHECK(ort_done(Ort::GetApi().IsTensor(value, &is_tensor)));
  if (is_tensor != 0) return {};
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  ZARRPOINT_CHECK(ort_done(Ort::GetApi().GetValueType(value, &kind)));
  std::string what = "is not a tensor";
  if (kind == ONNX_TYPE_SPARSETENSOR) what = "is a sparse tensor; save its values and indices";
  if (kind == ONNX_TYPE_SEQUENCE) what = "is a sequence; save its elements, each a leaf";
  if (kind == ONNX_TYPE_MAP) what = "is a map; save its keys and its values";
  return error{errc::invalid_argument, "an Ort::Value that " + what};
}

/// Errors: `invalid_argument` for memory that the processor cannot read; pinned memory of a device
/// it can.
inline result<void> expect_ort_host_memory(const OrtValue* tensor) {
  const OrtApi& api = Ort::GetApi();
  const OrtMemoryInfo* memory = nullptr;
  ZARRPOINT_CHECK(ort_done(api.GetTensorMemoryInfo(tensor, &memory)));
  OrtMemType use = OrtMemTypeDefault;
  ZARRPOINT_CHECK(ort_done(api.MemoryInfoGetMemType(memory, &use)));
  OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType_CPU;
  api.MemoryInfoGetDeviceType(memory, &device);
  if (device == OrtMemoryInfoDeviceType_CPU || use == OrtMemTypeCPUInput ||
      use == OrtMemTypeCPUOutput)
    return {};
  const char* name = "";
  ZARRPOINT_CHECK(ort_done(api.MemoryInfoGetName(memory, &name)));
  return error{errc::invalid_argument, std::string("an Ort::Value in memory of ") + name +
                                           "; bind outputs to the CPU, or for CUDA take a "
                                           "zarrpoint::cuda::device_span of its elements"};
}

/// Errors: `unsupported` for elements that are not plain bytes.
inline result<tensor_spec> ort_spec(const OrtValue* tensor) {
  const OrtApi& api = Ort::GetApi();
  OrtTensorTypeAndShapeInfo* told = nullptr;
  ZARRPOINT_CHECK(ort_done(api.GetTensorTypeAndShape(tensor, &told)));
  const Ort::TensorTypeAndShapeInfo info(told);
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  ZARRPOINT_CHECK(ort_done(api.GetTensorElementType(told, &element)));
  const auto code = static_cast<std::size_t>(element);
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    return error{errc::unsupported,
                 "the Ort::Value holds strings; save and load a std::vector<std::string>"};
  if (code >= ort_elements.size() || !ort_elements[code].valid())
    return error{errc::unsupported, "elements of ONNX's data type " + std::to_string(code) +
                                        " in an Ort::Value; those of less than a byte are packed"};
  std::size_t rank = 0;
  ZARRPOINT_CHECK(ort_done(api.GetDimensionsCount(told, &rank)));
  if (rank > max_rank) return wrong_rank(rank);
  std::array<std::int64_t, max_rank> extents{};
  ZARRPOINT_CHECK(ort_done(api.GetDimensions(told, extents.data(), rank)));
  return tensor_spec{ort_elements[code], dims::from_range(extents.begin(), extents.begin() + rank)};
}

/// The first element; the API counts as a change even to ask for it.
inline std::byte* ort_elements_of(const OrtValue* tensor) {
  void* first = nullptr;
  auto* const asked =
      const_cast<OrtValue*>(tensor);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  if (!ort_done(Ort::GetApi().GetTensorMutableData(asked, &first))) return nullptr;
  return static_cast<std::byte*>(first);
}

}  // namespace detail

/// A dense tensor of the CPU, of any rank and of all elements of whole bytes, saved and filled
/// where it lies. So is one over memory of the program's (`CreateTensor` with a pointer). Errors:
/// `invalid_argument` for an empty value, a sparse tensor, a sequence or a map, and for a tensor on
/// a device; `unsupported` for strings and for elements of less than a byte.
template <onnxruntime::value V>
struct type_handler<V> {
  static constexpr std::string_view typestr = detail::array_kind;
  static constexpr auto aliases = detail::array_aliases;
  using space = host_space;
  static constexpr bool is_view = !std::same_as<V, Ort::Value>;

  static result<tensor_spec> spec(const V& value) {
    ZARRPOINT_CHECK(detail::expect_ort_tensor(value));
    ZARRPOINT_CHECK(detail::expect_ort_host_memory(value));
    return detail::ort_spec(value);
  }
  static host_view view(const V& value) {
    const std::byte* const first = detail::ort_elements_of(value);
    return dense_view(first, detail::ort_spec(value).value());
  }
  static mutable_host_view writable(V& target) requires(!std::same_as<V, Ort::ConstValue>) {
    return dense_view(detail::ort_elements_of(target), detail::ort_spec(target).value());
  }
  /// From the default allocator of ONNX Runtime, which owns the memory. Errors: `unsupported` for
  /// elements that this version of it does not have.
  static result<V> make(const tensor_spec& stored,
                        const place<space>&) requires std::same_as<V, Ort::Value> {
    const auto* const found =
        std::find(detail::ort_elements.begin(), detail::ort_elements.end(), stored.type);
    if (!stored.type.valid() || found == detail::ort_elements.end())
      return error{errc::unsupported, "an Ort::Value has no elements of " +
                                          std::string(to_string(stored.type)) +
                                          "; load another type, or cast"};
    ZARRPOINT_TRY(bytes, byte_count(stored));
    const OrtApi& api = Ort::GetApi();
    OrtAllocator* allocator = nullptr;
    ZARRPOINT_CHECK(detail::ort_done(api.GetAllocatorWithDefaultOptions(&allocator)));
    std::array<std::int64_t, max_rank> extents{};
    std::copy(stored.shape.begin(), stored.shape.end(), extents.begin());
    const auto code = static_cast<ONNXTensorElementDataType>(found - detail::ort_elements.begin());
    OrtValue* made = nullptr;
    OrtStatus* const status =
        api.CreateTensorAsOrtValue(allocator, extents.data(), stored.shape.rank(), code, &made);
    if (status != nullptr) {
      const bool unknown = api.GetErrorCode(status) == ORT_NOT_IMPLEMENTED;
      error failure = detail::ort_done(status).failure();
      if (!unknown) return detail::cannot_make(stored, bytes, failure.message);
      failure.code = errc::unsupported;
      return failure;
    }
    return V(made);
  }
};

}}  // namespace zarrpoint::v0
