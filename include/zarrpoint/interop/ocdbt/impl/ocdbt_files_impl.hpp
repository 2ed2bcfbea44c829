// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE ocdbt_files::ocdbt_files(any_store base, store_key root, std::uint64_t node_bytes,
                                          std::uint64_t cache_bytes)
    : base_(std::move(base)),
      root_(std::move(root)),
      node_bytes_(node_bytes),
      cache_bytes_(cache_bytes) {}

ZARRPOINT_INLINE result<std::optional<std::vector<std::byte>>> ocdbt_files::manifest(
    std::string_view name) const {
  ZARRPOINT_TRY(key, root_.child(name));
  return get(base_, key, node_bytes_);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_files::names() const {
  return base_.list(root_);
}

ZARRPOINT_INLINE result<std::shared_ptr<const container_file>> ocdbt_files::data(
    const std::string& path) const {
  constexpr std::size_t most_open = 64;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(open_.begin(), open_.end(),
                                 [&](const auto& entry) { return entry.first == path; });
    if (at != open_.end()) {
      open_.splice(open_.begin(), open_, at);
      return at->second;
    }
  }
  auto key = root_.child(path);
  if (!key || path.empty())
    return error{errc::corrupt, "its data file " + in_quotes(path) + " has no valid path"};
  ZARRPOINT_TRY(file, base_.open(*key));
  if (file == nullptr)
    return error{errc::corrupt, "its data file " + in_quotes(path) + " is missing"};
  auto made = v0::detail::make_counted<const container_file>(std::move(file));
  const std::lock_guard lock(mutex_);
  open_.emplace_front(path, made);
  if (open_.size() > most_open) open_.pop_back();
  return made;
}

ZARRPOINT_INLINE result<std::vector<std::byte>> ocdbt_files::stored(const std::string& path,
                                                                    std::uint64_t offset,
                                                                    std::uint64_t length) const {
  ZARRPOINT_TRY(file, data(path));
  const std::uint64_t size = file->file().size();
  if (offset > size || length > size - offset)
    return error{errc::corrupt, "its data file " + in_quotes(path) + " has " +
                                    std::to_string(size) + " bytes, which end before byte " +
                                    std::to_string(offset) + " + " + std::to_string(length)};
  if (length > node_bytes_)
    return error{errc::resource_limit,
                 "a node in " + in_quotes(path) + " has " + std::to_string(length) +
                     " bytes, more than the limit of " + std::to_string(node_bytes_)};
  std::vector<std::byte> out(static_cast<std::size_t>(length));
  ZARRPOINT_CHECK(file->file().read(offset, out));
  return out;
}

ZARRPOINT_INLINE result<std::shared_ptr<const ocdbt_node>> ocdbt_files::node(
    const std::string& path, std::uint64_t offset, std::uint64_t length,
    std::uint8_t height) const {
  std::string place = path + '@' + std::to_string(offset);
  {
    const std::lock_guard lock(mutex_);
    const auto at = places_.find(place);
    if (at != places_.end() && at->second->node->height == height) {
      nodes_.splice(nodes_.begin(), nodes_, at->second);
      return at->second->node;
    }
  }
  ZARRPOINT_TRY(bytes, stored(path, offset, length));
  ZARRPOINT_TRY(read,
                read_ocdbt_node(bytes, height, node_bytes_)
                    .at("the node at byte " + std::to_string(offset) + " of " + in_quotes(path)));
  auto made = v0::detail::make_counted<const ocdbt_node>(std::move(read));
  keep(std::move(place), made);
  return made;
}

ZARRPOINT_INLINE void ocdbt_files::keep(std::string place,
                                        std::shared_ptr<const ocdbt_node> node) const {
  const std::lock_guard lock(mutex_);
  if (places_.contains(place)) return;  // by another thread
  used_ += node->bytes();
  nodes_.push_front({place, std::move(node)});
  places_.emplace(std::move(place), nodes_.begin());
  while (used_ > cache_bytes_ && nodes_.size() > 1) {
    used_ -= nodes_.back().node->bytes();
    places_.erase(nodes_.back().place);
    nodes_.pop_back();
  }
}

ZARRPOINT_INLINE result<ocdbt_versions> ocdbt_files::versions(const std::string& path,
                                                              const ocdbt_location& at,
                                                              std::uint8_t height) const {
  ZARRPOINT_TRY(bytes, stored(path, at.offset, at.length));
  return read_ocdbt_versions(bytes, height, node_bytes_)
      .at("the versions at byte " + std::to_string(at.offset) + " of " + in_quotes(path));
}

}}}  // namespace zarrpoint::v0::detail
