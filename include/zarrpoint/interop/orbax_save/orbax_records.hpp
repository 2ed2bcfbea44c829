// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The files of JSON beside the arrays, as texts. The readers are in orbax_tree.hpp,
// orbax_sharding.hpp and orbax_step.hpp.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// `repr` of a tuple of texts in Python, as `_METADATA` names leaves: `('a', 'b')`, `('a',)`.
std::string python_tuple(const std::vector<tree_key>& path);

/// `_METADATA`.
std::string tree_record(const tree_plan& plan, const tree_options& options);

/// A sharding as its JSON. Null for types that have none.
json sharding_json(const sharding& of);

/// A file of `array_metadatas`, of each `jax.Array`, which is the same for all processes; empty if
/// there is none.
std::string array_record(const tree_plan& plan);

/// `_strings.json`; empty where no leaf is a text.
std::string text_record(const tree_plan& plan);

/// `_CHECKPOINT_METADATA` of a step or a checkpoint.
std::string checkpoint_record(const checkpoint_facts& of);

/// The handler of a tree, as `_CHECKPOINT_METADATA` names it.
std::string_view handler_name(tree_handler which);

}}}}  // namespace zarrpoint::v0::orbax::detail
