// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of checkpoints and handlers.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/checkpoint/document/impl/commit_document_impl.hpp>
#include <zarrpoint/checkpoint/document/impl/commit_reader_impl.hpp>
#include <zarrpoint/checkpoint/document/impl/contents_impl.hpp>
#include <zarrpoint/checkpoint/document/impl/names_impl.hpp>
#include <zarrpoint/checkpoint/impl/options_impl.hpp>
#include <zarrpoint/checkpoint/load/impl/checkpoint_impl.hpp>
#include <zarrpoint/checkpoint/load/impl/load_batch_impl.hpp>
#include <zarrpoint/checkpoint/load/impl/load_into_all_impl.hpp>
#include <zarrpoint/checkpoint/load/impl/mapped_tensor_impl.hpp>
#include <zarrpoint/checkpoint/load/impl/name_hierarchies_impl.hpp>
#include <zarrpoint/checkpoint/load/impl/read_leaf_impl.hpp>
#include <zarrpoint/checkpoint/load/impl/wanted_spec_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/chunk_shape_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/hidden_leaves_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/plan_layout_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/replace_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/save_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/save_target_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/stage_leaves_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/write_leaf_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/write_leaves_impl.hpp>
#include <zarrpoint/checkpoint/save/impl/write_metadata_impl.hpp>
#include <zarrpoint/checkpoint/verify/impl/consolidated_documents_impl.hpp>
#include <zarrpoint/checkpoint/verify/impl/seal_impl.hpp>
#include <zarrpoint/checkpoint/verify/impl/stored_documents_impl.hpp>
#include <zarrpoint/checkpoint/verify/impl/verify_impl.hpp>
#include <zarrpoint/checkpoint/verify/impl/verify_leaf_impl.hpp>
#include <zarrpoint/handler/base/impl/concepts_impl.hpp>
#include <zarrpoint/handler/impl/leaf_impl.hpp>
#include <zarrpoint/handler/types/impl/string_impl.hpp>
