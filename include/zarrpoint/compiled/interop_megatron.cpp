// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of the layouts of Megatron-Core.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/megatron/impl/listed_object_impl.hpp>
#include <zarrpoint/interop/megatron/impl/megatron_directory_impl.hpp>
#include <zarrpoint/interop/megatron/impl/megatron_layout_impl.hpp>
#include <zarrpoint/interop/megatron/impl/megatron_rules_impl.hpp>
#include <zarrpoint/interop/megatron/impl/megatron_strategies_impl.hpp>
#include <zarrpoint/interop/megatron/impl/torch_dist_loader_impl.hpp>
#include <zarrpoint/interop/megatron/impl/torch_dist_saver_impl.hpp>
