// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/zip/zip_directory.hpp>
#include <zarrpoint/store/zip/zip_member_blob.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<zip_store> zip_store::open(const any_store& base, const store_key& key,
                                                   const zip_store_options& how) {
  ZARRPOINT_TRY(file, base.open(key));
  if (file == nullptr)
    return error{errc::not_found, "open " + base.describe(key) + ": no such file"};
  return open(std::move(file), how);
}

ZARRPOINT_INLINE result<zip_store> zip_store::open(std::unique_ptr<blob> file,
                                                   const zip_store_options& how) {
  const std::string name = file->name();
  auto made = guarded([&] { return read(std::move(file), how); });
  return std::move(made).at("open " + name);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> zip_store::open(const store_key& key) const {
  const detail::zip_member* member = state_->find(key.str());
  if (member == nullptr || key.is_root()) return std::unique_ptr<blob>();
  return detail::open_zip_member(state_->archive, *member);
}

ZARRPOINT_INLINE std::string zip_store::describe(const store_key& key) const {
  const std::string file = state_->archive->file().name();
  return key.is_root() ? file : file + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> zip_store::list(const store_key& prefix) const {
  return detail::list_children(prefix, [this](std::string_view text) {
    const auto at = state_->lower_bound(text);
    return at == state_->members.end() ? nullptr : &at->name;
  });
}

ZARRPOINT_INLINE std::vector<detail::zip_member>::const_iterator zip_store::state::lower_bound(
    std::string_view name) const {
  return std::lower_bound(
      members.begin(), members.end(), name,
      [](const detail::zip_member& a, std::string_view b) { return a.name < b; });
}

ZARRPOINT_INLINE const detail::zip_member* zip_store::state::find(std::string_view name) const {
  const auto at = lower_bound(name);
  return at != members.end() && at->name == name ? &*at : nullptr;
}

ZARRPOINT_INLINE result<zip_store> zip_store::read(std::unique_ptr<blob> file,
                                                   const zip_store_options& how) {
  ZARRPOINT_TRY(members, detail::read_zip_directory(*file, how.directory_bytes));
  // What archivers put there for directories is not an object.
  std::erase_if(members, [](const detail::zip_member& member) {
    return (member.name.ends_with('/') || member.name.ends_with('\\')) && member.size == 0;
  });
  for (detail::zip_member& member : members) {
    // Sloppy writers of Windows separate folders so, which APPNOTE 4.4.17 forbids. One behind a
    // drive's letter stays, and is refused: the name is absolute.
    if (member.name.find('\\') != member.name.npos && member.name.find(':') != 1) {
      if (member.raw_name.empty()) member.raw_name = member.name;
      std::replace(member.name.begin(), member.name.end(), '\\', '/');
    }
    auto key = store_key::parse(member.name);
    if (!key) return detail::zip_corrupt("member: " + key.failure().message);
    if (key->is_root()) return detail::zip_corrupt("a member has no name");
  }
  detail::sort_by_text(members,
                       [](const detail::zip_member& one) -> std::string_view { return one.name; });
  // Of those of one name the last in the directory stays.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool again = kept != 0 && members[kept - 1].name == members[i].name;
    if (!again) ++kept;
    if (kept - 1 != i) members[kept - 1] = std::move(members[i]);
  }
  members.erase(members.begin() + static_cast<std::ptrdiff_t>(kept), members.end());
  auto archive = detail::make_counted<const detail::zip_archive>(std::move(file), how.inflate);
  return zip_store(
      detail::make_counted<const state>(state{std::move(archive), std::move(members)}));
}

}}  // namespace zarrpoint::v0
