// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of the store OCDBT.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/ocdbt/impl/ocdbt_data_file_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_database_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_encoder_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_envelope_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_files_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_merge_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_records_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_store_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_tree_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_tree_writer_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_writer_impl.hpp>
#include <zarrpoint/interop/ocdbt/impl/ocdbt_writer_state_impl.hpp>
