// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <string>
#include <string_view>
#include <vector>

// What lies where a checkpoint is going to be.

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

inline constexpr std::string_view metadata_file = ".metadata";

/// Whether a file is one of a checkpoint of PyTorch's, by its name.
bool is_own_file(std::string_view name);

/// Those of a directory, sorted; none where the store cannot list.
result<std::vector<std::string>> own_files(const any_store& root);

/// Whether the root of a store is a checkpoint of PyTorch's, and a whole one.
result<v0::detail::own_look> look_for_state(const any_store& root);

}}}}  // namespace zarrpoint::v0::dcp::detail
