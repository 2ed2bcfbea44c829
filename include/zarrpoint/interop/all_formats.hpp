// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>
#include <zarrpoint/interop/megatron/megatron_format.hpp>
#include <zarrpoint/interop/numpy/numpy_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>
#include <zarrpoint/interop/torch/torch_store.hpp>
#include <zarrpoint/store/format.hpp>

namespace zarrpoint { inline namespace v0 {

/// The table of stores to which all formats of this library are known: `open(path, all_formats())`.
/// `Added` are formats of the caller's, which replace those of the same name, or schemes of stores.
template <class... Added>
constexpr store_table all_formats() {
  return formats<dcp::format, gguf::format, megatron::format, numpy::format, ocdbt::format,
                 orbax::format, safetensors::format, torch::format, Added...>();
}

}}  // namespace zarrpoint::v0
