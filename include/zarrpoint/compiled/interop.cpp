// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of pickles and of formats that need little else.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dlpack/impl/dlpack_abi_impl.hpp>
#include <zarrpoint/interop/dlpack/impl/dlpack_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_convert_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_input_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_stack_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_value_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_writer_impl.hpp>
#include <zarrpoint/interop/safetensors/impl/safetensors_header_impl.hpp>
#include <zarrpoint/interop/safetensors/impl/safetensors_impl.hpp>
#include <zarrpoint/interop/torch/impl/document_keys_impl.hpp>
#include <zarrpoint/interop/torch/impl/document_value_impl.hpp>
#include <zarrpoint/interop/torch/impl/legacy_file_impl.hpp>
#include <zarrpoint/interop/torch/impl/pickled_numpy_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_document_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_file_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_tensor_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_writer_impl.hpp>
