// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>

// A tree with the kinds of its containers: `value_metadata_tree`.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// Whether it may be a field of a named tuple: a name of Python in ASCII, no keyword, and not one
/// that begins with '_'.
bool is_field_name(const std::string& text);

/// Checks a container by itself. Errors: `invalid_argument`, naming it.
result<void> check_container(const tree_container& of);

/// Checks containers by themselves, and against the leaves of a plan, which are in order. Errors:
/// `invalid_argument`, naming the container.
result<void> check_containers(const tree_plan& plan, const std::vector<tree_container>& all);

/// What Orbax tells of a value: its type, and how it is stored.
json value_entry(const planned_item& item, const tree_plan& plan);

/// The text of a plan with these containers, which were checked.
std::string rich_text(const tree_plan& plan, const std::vector<tree_container>& all);

}}}}  // namespace zarrpoint::v0::orbax::detail
