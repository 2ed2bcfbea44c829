// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

ZARRPOINT_INLINE bool is_own_file(std::string_view name) {
  if (name == metadata_file || name == ".metadata.tmp") return true;
  return name.starts_with("__") && (name.ends_with(".distcp") || name.ends_with(metadata_file));
}

ZARRPOINT_INLINE result<v0::detail::own_look> look_for_state(const any_store& root) {
  ZARRPOINT_TRY(key, store_key::parse(metadata_file));
  ZARRPOINT_TRY(object, root.open(key));
  if (object != nullptr) return v0::detail::own_look{true};
  ZARRPOINT_TRY(files, own_files(root));
  if (files.empty()) return v0::detail::own_look{};
  return v0::detail::own_look{
      false, "what is left of a PyTorch (DCP) checkpoint whose save was not finished"};
}

ZARRPOINT_INLINE result<std::vector<std::string>> own_files(const any_store& root) {
  std::vector<std::string> out;
  if (!root.can_list()) return out;
  ZARRPOINT_TRY(children, root.list(store_key::root()));
  for (const list_entry& child : children)
    if (!child.is_prefix && is_own_file(child.name)) out.push_back(child.name);
  std::sort(out.begin(), out.end());
  return out;
}

}}}}  // namespace zarrpoint::v0::dcp::detail
