// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of files of others that are read as hierarchies.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/gguf/impl/gguf_header_impl.hpp>
#include <zarrpoint/interop/gguf/impl/gguf_scheme_impl.hpp>
#include <zarrpoint/interop/gguf/impl/gguf_store_impl.hpp>
#include <zarrpoint/interop/hierarchy/impl/made_hierarchy_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_store_impl.hpp>
