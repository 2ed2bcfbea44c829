// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/dlpack/dlpack.hpp>
#include <zarrpoint/interop/dlpack/dlpack_abi.hpp>

#include <utility>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

// ---------------------------------------------------------------------------------- dlpack_abi.hpp

ZARRPOINT_INLINE result<dtype> to_dtype(const data_type& type) {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (type_of(kind) == type) return dtype(kind);
  }
  return error{errc::unsupported, "no dtype is the DLPack type with code " +
                                      std::to_string(type.code) + ", " + std::to_string(type.bits) +
                                      " bits, " + std::to_string(type.lanes) +
                                      (type.lanes == 1 ? " lane" : " lanes")};
}

ZARRPOINT_INLINE std::string to_string(const device_id& device) {
  const char* name = nullptr;
  switch (static_cast<device_kind>(device.device_type)) {
    case device_kind::cpu: name = "cpu"; break;
    case device_kind::cuda: name = "cuda"; break;
    case device_kind::cuda_host: name = "cuda_host"; break;
    case device_kind::opencl: name = "opencl"; break;
    case device_kind::vulkan: name = "vulkan"; break;
    case device_kind::metal: name = "metal"; break;
    case device_kind::vpi: name = "vpi"; break;
    case device_kind::rocm: name = "rocm"; break;
    case device_kind::rocm_host: name = "rocm_host"; break;
    case device_kind::ext_dev: name = "ext_dev"; break;
    case device_kind::cuda_managed: name = "cuda_managed"; break;
    case device_kind::oneapi: name = "oneapi"; break;
    case device_kind::webgpu: name = "webgpu"; break;
    case device_kind::hexagon: name = "hexagon"; break;
    case device_kind::maia: name = "maia"; break;
    case device_kind::trn: name = "trn"; break;
  }
  std::string text =
      name != nullptr ? std::string(name) : "device of type " + std::to_string(device.device_type);
  return text + ':' + std::to_string(device.device_id);
}

}}}  // namespace zarrpoint::v0::dlpack

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------------- dlpack.hpp

namespace dlpack {

ZARRPOINT_INLINE device_id device_traits<host_space>::id(const host_space&) {
  return {static_cast<std::int32_t>(device_kind::cpu), 0};
}

ZARRPOINT_INLINE bool device_traits<host_space>::holds(const host_space&, const device_id& device) {
  const auto kind = static_cast<device_kind>(device.device_type);
  return kind == device_kind::cpu || kind == device_kind::cuda_host ||
         kind == device_kind::rocm_host;
}

}  // namespace dlpack

namespace dlpack { namespace detail {

ZARRPOINT_INLINE managed_owner& managed_owner::operator=(managed_owner&& other) noexcept {
  managed_owner(std::move(other)).swap(*this);
  return *this;
}

ZARRPOINT_INLINE managed_owner::~managed_owner() {
  if (managed_ != nullptr) free_(managed_);
}

ZARRPOINT_INLINE void managed_owner::swap(managed_owner& other) noexcept {
  std::swap(managed_, other.managed_);
  std::swap(free_, other.free_);
}

ZARRPOINT_INLINE error bad_tensor(std::string what) {
  return {errc::invalid_argument, "DLPack tensor: " + std::move(what)};
}

ZARRPOINT_INLINE result<void> place_elements(const std::int64_t* strides, described& out) {
  const auto size = static_cast<index_t>(out.type.size());
  out.strides = row_major_strides(out.shape, out.type.size());
  ZARRPOINT_TRY(bytes, byte_count(out.shape, out.type.size()));
  if (bytes == 0) return {};
  for (std::size_t i = 0; i < out.shape.rank(); ++i) {
    if (strides != nullptr && out.shape[i] != 1) {  // else it is never made, and may be anything
      ZARRPOINT_TRY(step, checked_mul<index_t>(strides[i], size));
      out.strides[i] = step;
    }
    ZARRPOINT_TRY(reach, checked_mul<index_t>(out.strides[i], out.shape[i] - 1));
    index_t& end = reach < 0 ? out.low : out.high;
    ZARRPOINT_TRY(further, checked_add<index_t>(end, reach));
    end = further;
  }
  ZARRPOINT_TRY(last, checked_add<index_t>(out.high, size));
  out.high = last;
  return {};
}

}}  // namespace dlpack::detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/types/bodies.hpp>
#endif
