// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of checkpoints of one process.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/checkpoint/checkpoint_impl.hpp>
#include <zarrpoint/checkpoint/chunk_shape_impl.hpp>
#include <zarrpoint/checkpoint/commit_document_impl.hpp>
#include <zarrpoint/checkpoint/commit_reader_impl.hpp>
#include <zarrpoint/checkpoint/default_context_impl.hpp>
#include <zarrpoint/checkpoint/load_batch_impl.hpp>
#include <zarrpoint/checkpoint/load_into_all_impl.hpp>
#include <zarrpoint/checkpoint/names_impl.hpp>
#include <zarrpoint/checkpoint/options_impl.hpp>
#include <zarrpoint/checkpoint/plan_layout_impl.hpp>
#include <zarrpoint/checkpoint/read_leaf_impl.hpp>
#include <zarrpoint/checkpoint/save_impl.hpp>
#include <zarrpoint/checkpoint/save_target_impl.hpp>
#include <zarrpoint/checkpoint/stage_leaves_impl.hpp>
#include <zarrpoint/checkpoint/write_leaf_impl.hpp>
#include <zarrpoint/checkpoint/write_metadata_impl.hpp>
