// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax_save/orbax_item.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 { namespace orbax {

ZARRPOINT_INLINE std::string tree_path::joined(char separator) const {
  std::string out;
  for (const tree_key& key : keys_) {
    if (&key != keys_.data()) out += separator;
    out += key.text;
  }
  return out;
}

}}}  // namespace zarrpoint::v0::orbax
