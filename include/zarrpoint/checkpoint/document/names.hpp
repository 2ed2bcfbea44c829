// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The groups that a set of leaf names implies: every proper prefix, without the root, parents
/// before children; and those of `empty`, which need hold no leaf. Errors: `invalid_argument` when
/// a name is not a path of Zarr node names, is there twice, or is both a leaf and a group.
result<std::set<std::string>> groups_of(std::span<const std::string_view> names,
                                        std::span<const std::string> empty = {});

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/document/impl/names_impl.hpp>
#endif
