// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/interop/dlpack/dlpack_abi.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace dlpack {

ZARRPOINT_INLINE result<dtype> to_dtype(const data_type& type) {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (type_of(kind) == type) return dtype(kind);
  }
  return error{errc::unsupported, "DLPack type with code " + std::to_string(type.code) + ", " +
                                      std::to_string(type.bits) + " bits, " +
                                      std::to_string(type.lanes) +
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
