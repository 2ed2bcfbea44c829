// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of writing checkpoints of torch.distributed.checkpoint.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dcp_save/impl/dcp_described_state_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_group_save_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_item_writer_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_metadata_writer_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_save_format_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_save_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_save_place_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_save_plan_impl.hpp>
