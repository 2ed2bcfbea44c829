// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>

// What a file of torch.save holds, as arrays of a hierarchy.

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

/// Of each value of a pickle, by its number, whether there is a storage or an array of numpy within
/// it. That is what must become an array, and would make the text of a document large.
std::vector<bool> find_elements(const pickle_value& root);

/// Puts what a file holds into a hierarchy: a document is made when it is read, and takes at most
/// what `limits` allows a pickle.
result<void> add_archive(const std::shared_ptr<const file>& from, const pickle_limits& limits,
                         v0::detail::virtual_hierarchy& to);

}}}}  // namespace zarrpoint::v0::torch::detail
