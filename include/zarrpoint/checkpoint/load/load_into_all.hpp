// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_target.hpp>
#include <zarrpoint/core/config.hpp>

#include <initializer_list>
#include <span>

namespace zarrpoint { inline namespace v0 {

/// Loads many leaves into memory that the caller has, in parallel: tensors on the host and on any
/// devices, of any types. What goes to devices is there when this returns. Targets must not share
/// memory. Small tensors on one stream of a device are sent together; where the handles of a memory
/// space cannot be compared, on the stream of one of them.
///
/// Errors: those of `checkpoint::load_into`, of a leaf. Targets that can be told (see
/// handler/base/concepts.hpp) then know whether they hold what was stored; the contents of the
/// others are unspecified.
result<void> load_into_all(const checkpoint& from, std::span<const load_target> targets,
                           const load_options& options = {});

/// The same with the targets in braces: `load_into_all(opened, {{"w", w}, {"b", b}})`.
result<void> load_into_all(const checkpoint& from, std::initializer_list<load_target> targets,
                           const load_options& options = {});

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/impl/load_into_all_impl.hpp>
#endif
