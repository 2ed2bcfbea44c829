// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_options.hpp>

#include <initializer_list>
#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// Saves a tree as a checkpoint that Orbax restores, in one step: until the last rename the target
/// is what it was before, whatever fails. Until then it is in a directory whose name has
/// `.orbax-checkpoint-tmp`, which Orbax does not take for a checkpoint. What it writes is what one
/// process of Orbax's writes: `_METADATA`, `_CHECKPOINT_METADATA` with the times,
/// `commit_success.txt`, and as needed `manifest.ocdbt` over `ocdbt.process_0`, `_sharding`,
/// `array_metadatas/process_0`, `_strings.json`.
///
/// Errors, each naming the leaf and the file: `invalid_argument` for a tree without leaves, for
/// paths that are not a tree's (two leaves of one path, a leaf beneath another, keys and indices
/// beneath one parent, an index left out), names that cannot be stored ("a.b" beside "b" beneath
/// "a": Orbax stores both as "a.b"), containers that the leaves do not fit and options that make no
/// sense; `already_exists`; `unsupported` for data types that TensorStore does not have, a cast
/// that has no meaning, and stores that cannot publish; those of `zarrpoint::save`.
result<save_report> save(const location& where, std::span<const tree_item> items,
                         const save_tree_options& options = {},
                         const context& how = default_context());

/// The same with the tree in braces:
/// `orbax::save("ckpt", {{"params/kernel", w}, {{"opt", 0}, m}, {"step", 1200}})`.
result<save_report> save(const location& where, std::initializer_list<tree_item> items,
                         const save_tree_options& options = {},
                         const context& how = default_context());

/// What `zarrpoint::save` does with `{.format = orbax::format{}}`: the parts of a name between '/'
/// are keys of dicts, and an empty group is an empty dict.
result<save_report> save_as(const format& as, const save_request& what);

/// Saves in the background. Borrowed tensors must stay alive and unchanged until the result is
/// there; what lives on a device is copied before this returns, to the host or, with
/// `save_tree_options::device_copy`, on the device, and numbers and texts are copied too.
/// `context::stop` cancels it. Destroying the result waits for it. Errors, all by the result: those
/// of `save`.
pending<save_report> save_async(location where, std::vector<tree_item> items,
                                save_tree_options options = {},
                                const context& how = default_context());

}}}  // namespace zarrpoint::v0::orbax
