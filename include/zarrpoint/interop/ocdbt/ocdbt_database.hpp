// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>

// What reading and writing a database have in common.

namespace zarrpoint { inline namespace v0 { namespace detail {

inline constexpr std::string_view ocdbt_manifest_name = "manifest.ocdbt";
inline constexpr std::string_view ocdbt_numbered_name = "manifest.";  // and 16 hex digits

/// The file that has the newest versions.
struct ocdbt_head {
  std::string name;
  std::vector<std::byte> bytes;  ///< all of it
  ocdbt_manifest manifest;
};

/// The head of a database; nothing where there is no manifest.
result<std::optional<ocdbt_head>> find_ocdbt_head(const ocdbt_files& files);

/// What users are told of a version.
ocdbt_version as_ocdbt_version(const ocdbt_root& of);

/// The names of numbered manifests, the oldest first.
result<std::vector<std::string>> numbered_ocdbt_manifests(const ocdbt_files& files);

/// The value of an entry; `name` is what error messages call it.
result<std::unique_ptr<blob>> open_ocdbt_value(const ocdbt_files& files, const ocdbt_item& item,
                                               std::string name);

}}}  // namespace zarrpoint::v0::detail
