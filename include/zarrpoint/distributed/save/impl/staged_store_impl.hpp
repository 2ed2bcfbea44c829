// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/save/staged_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<any_store> open_staged(const stored_place& target, const std::string& name,
                                               bool sync) {
  // It came in a message, and must not lead anywhere else.
  const bool is_name = name.find('/') == name.npos && key_segment_fault(name) == nullptr;
  if (!is_name)
    return error{errc::corrupt, "what rank 0 planned: " + in_quotes(name) +
                                    " is not the name of a directory beside " +
                                    target.store.describe(target.key)};
  const std::string path = target.store.describe(target.key);
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == path.npos ? "" : path.substr(0, slash + 1);
  ZARRPOINT_TRY(tree, file_store::open(parent + name, {.sync = sync}));
  return any_store(std::move(tree));
}

}}}  // namespace zarrpoint::v0::detail
