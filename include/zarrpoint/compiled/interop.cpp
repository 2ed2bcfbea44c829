// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of layouts of others.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dlpack/impl/dlpack_abi_impl.hpp>
#include <zarrpoint/interop/dlpack/impl/dlpack_impl.hpp>
#include <zarrpoint/interop/megatron/impl/megatron_directory_impl.hpp>
#include <zarrpoint/interop/megatron/impl/megatron_layout_impl.hpp>
#include <zarrpoint/interop/megatron/impl/megatron_strategies_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_data_file_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_database_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_encoder_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_envelope_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_files_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_merge_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_records_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_scheme_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_store_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_tree_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_tree_writer_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_writer_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_aggregate_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_documents_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_item_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_msgpack_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_plan_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_records_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_save_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_scheme_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_sharding_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_step_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_store_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_tree_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_value_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_convert_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_value_impl.hpp>
#include <zarrpoint/interop/pickle/impl/pickle_writer_impl.hpp>
#include <zarrpoint/interop/safetensors/impl/safetensors_header_impl.hpp>
#include <zarrpoint/interop/safetensors/impl/safetensors_impl.hpp>
#include <zarrpoint/interop/torch/impl/document_keys_impl.hpp>
#include <zarrpoint/interop/torch/impl/pickled_numpy_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_document_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_file_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_tensor_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_writer_impl.hpp>
