// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of reading checkpoints of Orbax.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/orbax/impl/orbax_aggregate_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_documents_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_format_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_inline_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_msgpack_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_sharding_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_step_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_store_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_tree_impl.hpp>
#include <zarrpoint/interop/orbax/impl/orbax_value_impl.hpp>
