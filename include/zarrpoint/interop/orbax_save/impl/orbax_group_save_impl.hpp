// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax_save/orbax_group_save.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_operation.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 { namespace orbax {

ZARRPOINT_INLINE result<save_report> save(const location& where, const any_communicator& ranks,
                                          std::span<const sharded_tensor> shards,
                                          std::span<const tree_item> leaves,
                                          const save_tree_options& options, const context& how) {
  detail::save_operation one(where, ranks, options, how);
  ZARRPOINT_CHECK(one.begin({shards, leaves}, false));
  return one.finish(one.write());
}

}}}  // namespace zarrpoint::v0::orbax
