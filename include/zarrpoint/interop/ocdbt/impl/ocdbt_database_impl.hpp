// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/store/base/memory_blob.hpp>
#include <zarrpoint/store/base/range_blob.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE ocdbt_version as_ocdbt_version(const ocdbt_root& of) {
  return {of.generation, of.commit_time, of.below.keys, of.below.tree_bytes, of.below.value_bytes};
}

ZARRPOINT_INLINE result<std::vector<std::string>> numbered_ocdbt_manifests(
    const ocdbt_files& files) {
  constexpr std::string_view begin = ocdbt_numbered_name;
  ZARRPOINT_TRY(names, files.names());
  std::vector<std::string> out;
  for (list_entry& entry : names) {
    const std::string_view name = entry.name;
    if (entry.is_prefix || name.size() != begin.size() + 16 || !name.starts_with(begin)) continue;
    if (name.find_first_not_of("0123456789abcdef", begin.size()) != name.npos) continue;
    out.push_back(std::move(entry.name));
  }
  v0::detail::sort_names(out);  // as the generations do
  return out;
}

ZARRPOINT_INLINE result<std::optional<ocdbt_head>> find_ocdbt_head(const ocdbt_files& files) {
  ocdbt_head out;
  out.name = ocdbt_manifest_name;
  ZARRPOINT_TRY(stored, files.manifest(out.name));
  if (!stored) return std::optional<ocdbt_head>();
  ZARRPOINT_TRY(manifest, read_ocdbt_manifest(*stored, files.node_bytes()).at(out.name));
  if (!manifest.configuration.is_numbered) {
    out.bytes = std::move(*stored);
    out.manifest = std::move(manifest);
    return std::optional(std::move(out));
  }
  ZARRPOINT_TRY(names, numbered_ocdbt_manifests(files));
  if (names.empty()) return error{errc::corrupt, "it has no numbered manifest"};
  out.name = std::move(names.back());
  ZARRPOINT_TRY(bytes, files.manifest(out.name));
  if (!bytes) return error{errc::corrupt, out.name + " is missing"};
  ZARRPOINT_TRY(numbered, read_ocdbt_manifest(*bytes, files.node_bytes()).at(out.name));
  if (numbered.configuration.is_numbered)
    return error{errc::corrupt, out.name + " has no versions"};
  out.bytes = std::move(*bytes);
  out.manifest = std::move(numbered);
  out.manifest.configuration.is_numbered = true;  // each of these files says that it is single
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> open_ocdbt_value(const ocdbt_files& files,
                                                                const ocdbt_item& item,
                                                                std::string name) {
  const ocdbt_node::entry& at = item.entry();
  if (at.file == ocdbt_node::in_node || at.length == 0) {
    const bytes_view value = at.length == 0 ? bytes_view()
                                            : bytes_view(item.leaf->body)
                                                  .subspan(static_cast<std::size_t>(at.offset),
                                                           static_cast<std::size_t>(at.length));
    return v0::detail::make_owned<blob, memory_blob>(mapping(value, item.leaf), std::move(name));
  }
  const ocdbt_file& file = item.leaf->files[at.file];
  const std::string path = item.base + file.base + file.name;
  ZARRPOINT_TRY(data, files.data(path));
  const std::uint64_t size = data->file().size();
  if (at.offset > size || at.length > size - at.offset)
    return error{errc::corrupt, "its data file " + in_quotes(path) + " ends before its value does"};
  return v0::detail::make_owned<blob, range_blob>(std::move(data), at.offset, at.length,
                                                  std::move(name));
}

}}}  // namespace zarrpoint::v0::detail
