// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of writing checkpoints of Orbax.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/orbax_save/impl/orbax_async_saves_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_chunks_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_described_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_extra_items_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_group_save_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_item_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_plan_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_receipts_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_records_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_rich_types_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_save_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_save_operation_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_save_target_impl.hpp>
#include <zarrpoint/interop/orbax_save/impl/orbax_shared_tree_impl.hpp>
