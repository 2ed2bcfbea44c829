// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of arrays and groups.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/array/hierarchy/impl/migrate_impl.hpp>
#include <zarrpoint/array/hierarchy/impl/node_walk_impl.hpp>
#include <zarrpoint/array/hierarchy/impl/store_tree_impl.hpp>
#include <zarrpoint/array/hierarchy/impl/stored_node_impl.hpp>
#include <zarrpoint/array/impl/array_class_impl.hpp>
#include <zarrpoint/array/impl/array_open_impl.hpp>
#include <zarrpoint/array/impl/array_transfer_impl.hpp>
#include <zarrpoint/array/impl/array_view_impl.hpp>
#include <zarrpoint/array/impl/chunk_boxes_impl.hpp>
#include <zarrpoint/array/impl/compact_impl.hpp>
#include <zarrpoint/array/impl/gather_impl.hpp>
#include <zarrpoint/array/impl/group_impl.hpp>
#include <zarrpoint/array/impl/indexed_array_impl.hpp>
#include <zarrpoint/array/impl/raw_object_impl.hpp>
#include <zarrpoint/array/impl/rectilinear_impl.hpp>
#include <zarrpoint/array/impl/resize_impl.hpp>
#include <zarrpoint/array/impl/sparse_read_impl.hpp>
