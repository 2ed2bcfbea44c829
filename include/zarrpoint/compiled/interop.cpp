// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of formats of others.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dlpack_abi_impl.hpp>
#include <zarrpoint/interop/dlpack_impl.hpp>
#include <zarrpoint/interop/megatron_directory_impl.hpp>
#include <zarrpoint/interop/megatron_layout_impl.hpp>
#include <zarrpoint/interop/megatron_strategies_impl.hpp>
#include <zarrpoint/interop/pickle_convert_impl.hpp>
#include <zarrpoint/interop/pickle_impl.hpp>
#include <zarrpoint/interop/pickle_value_impl.hpp>
#include <zarrpoint/interop/pickle_writer_impl.hpp>
#include <zarrpoint/interop/safetensors_header_impl.hpp>
#include <zarrpoint/interop/safetensors_impl.hpp>
#include <zarrpoint/interop/torch_file_impl.hpp>
#include <zarrpoint/interop/torch_tensor_impl.hpp>
#include <zarrpoint/interop/torch_writer_impl.hpp>
