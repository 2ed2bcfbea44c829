// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The structs and numbers of DLPack 1.3, so that its header is not needed. Members have the names
// of that header: functions here that are templates take its structs as well as these.

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

/// Where the elements of a tensor are. More kinds exist than have a name here.
enum class device_kind : std::int32_t {
  cpu = 1,
  cuda = 2,
  cuda_host = 3,  ///< host memory that is pinned
  opencl = 4,
  vulkan = 7,
  metal = 8,
  vpi = 9,
  rocm = 10,
  rocm_host = 11,  ///< host memory that is pinned
  ext_dev = 12,
  cuda_managed = 13,
  oneapi = 14,
  webgpu = 15,
  hexagon = 16,
  maia = 17,
  trn = 18,
};

/// `DLDevice`.
struct device_id {
  std::int32_t device_type = 0;
  std::int32_t device_id = 0;
};

/// `DLDataType`.
struct data_type {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;

  friend bool operator==(const data_type&, const data_type&) = default;
};

/// `DLTensor`. Strides are counted in elements.
struct raw_tensor {
  void* data = nullptr;
  dlpack::device_id device;
  std::int32_t ndim = 0;
  data_type dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< null: row-major, as producers before 1.2 may say
  std::uint64_t byte_offset = 0;
};

/// `DLManagedTensor`: of DLPack before 1.0. It cannot say that its elements are read-only.
struct managed_legacy {
  raw_tensor dl_tensor;
  void* manager_ctx = nullptr;
  void (*deleter)(managed_legacy* self) = nullptr;
};

/// `DLPackVersion`.
struct abi_version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

/// `DLManagedTensorVersioned`.
struct managed_versioned {
  abi_version version;
  void* manager_ctx = nullptr;
  void (*deleter)(managed_versioned* self) = nullptr;
  std::uint64_t flags = 0;
  raw_tensor dl_tensor;
};

static_assert(sizeof(void*) != 8 ||
              (sizeof(raw_tensor) == 48 && sizeof(managed_legacy) == 64 &&
               offsetof(managed_versioned, flags) == 24 && sizeof(managed_versioned) == 80));

/// What is written here. Of others the major version must be this one.
inline constexpr abi_version current_version{1, 3};

/// Nobody may write the elements (`DLPACK_FLAG_BITMASK_READ_ONLY`).
inline constexpr std::uint64_t flag_read_only = 1;
/// Made for the importer (`DLPACK_FLAG_BITMASK_IS_COPIED`).
inline constexpr std::uint64_t flag_is_copied = 2;

namespace detail {

enum type_code : std::uint8_t {
  code_int = 0,
  code_uint = 1,
  code_float = 2,
  code_bfloat = 4,
  code_complex = 5,
  code_bool = 6,
  code_float8_e3m4 = 7,
  code_float8_e4m3 = 8,
  code_float8_e4m3b11fnuz = 9,
  code_float8_e4m3fn = 10,
  code_float8_e4m3fnuz = 11,
  code_float8_e5m2 = 12,
  code_float8_e5m2fnuz = 13,
  code_float8_e8m0fnu = 14,
};

constexpr std::optional<std::uint8_t> code_of(dtype_kind kind) noexcept {
  const dtype type(kind);
  if (type.is_below_byte()) return std::nullopt;
  if (type.is_signed_integer()) return code_int;
  if (type.is_unsigned_integer()) return code_uint;
  switch (kind) {
    case dtype_kind::bool_: return code_bool;
    case dtype_kind::float8_e3m4: return code_float8_e3m4;
    case dtype_kind::float8_e4m3: return code_float8_e4m3;
    case dtype_kind::float8_e4m3b11fnuz: return code_float8_e4m3b11fnuz;
    case dtype_kind::float8_e4m3fn: return code_float8_e4m3fn;
    case dtype_kind::float8_e4m3fnuz: return code_float8_e4m3fnuz;
    case dtype_kind::float8_e5m2: return code_float8_e5m2;
    case dtype_kind::float8_e5m2fnuz: return code_float8_e5m2fnuz;
    case dtype_kind::float8_e8m0fnu: return code_float8_e8m0fnu;
    case dtype_kind::bfloat16: return code_bfloat;
    case dtype_kind::float16:
    case dtype_kind::float32:
    case dtype_kind::float64: return code_float;
    case dtype_kind::complex_float16:
    case dtype_kind::complex64:
    case dtype_kind::complex128: return code_complex;
    default: return std::nullopt;
  }
}

}  // namespace detail

/// DLPack's type of a dtype's elements; nothing for those that it has not (text, times, records),
/// and for those below a byte, which it packs and we do not.
constexpr std::optional<data_type> type_of(const dtype& type) noexcept {
  const auto code = detail::code_of(type.kind());
  if (!code) return std::nullopt;
  return data_type{*code, static_cast<std::uint8_t>(8 * type.size()), 1};
}

/// The dtype of that type. Errors: `unsupported` for what no dtype is, which are vectors of several
/// lanes and elements below a byte, too.
result<dtype> to_dtype(const data_type& type);

/// `"cuda:0"`; `"device of type 99:0"` for what has no name here.
std::string to_string(const device_id& device);

/// Which DLPack devices hold memory of a space, for the spaces that have a specialisation:
///
///     static device_id id(const Space&);                         // what exported tensors say
///     static bool holds(const Space&, const device_id&);         // what imported ones may say
///
/// and, of devices,
///
///     static result<void> settle(const Space&);                  // waits until the device is idle
///
/// and for interop/dlpack/dlpack_python.hpp
///
///     static std::int64_t stream_number(const Space&);           // as `__dlpack__` counts them
///     static result<std::optional<Space>> on_stream(const Space&, std::int64_t number);
///
/// where no space means a stream that only a wait of the host can order.
template <class Space>
struct device_traits;

}}}  // namespace zarrpoint::v0::dlpack
