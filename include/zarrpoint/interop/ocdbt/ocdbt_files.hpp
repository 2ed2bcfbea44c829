// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/range_blob.hpp>

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The data files of a database, and the nodes in them, of which the last used are kept. All
/// members may be called from several threads at once.
class ocdbt_files {
 public:
  ocdbt_files(any_store base, store_key root, std::uint64_t node_bytes, std::uint64_t cache_bytes);

  /// The whole manifest `name`, or nothing.
  result<std::optional<std::vector<std::byte>>> manifest(std::string_view name) const;

  /// The names beside the manifest.
  result<std::vector<list_entry>> names() const;

  /// A data file by its path from the root of the database. Errors: `corrupt`, naming it, where it
  /// is missing or its path leads elsewhere; those of the store.
  result<std::shared_ptr<const container_file>> data(const std::string& path) const;

  /// The node of this height that lies there, `base` being the base paths that led to it.
  result<std::shared_ptr<const ocdbt_node>> node(const std::string& path, std::uint64_t offset,
                                                 std::uint64_t length, std::uint8_t height) const;

  /// A node of the version tree; it is not kept.
  result<ocdbt_versions> versions(const std::string& path, const ocdbt_location& at,
                                  std::uint8_t height) const;

  std::string describe() const { return base_.describe(root_); }
  bool lists_cheaply() const { return base_.lists_cheaply(); }
  std::uint64_t node_bytes() const { return node_bytes_; }

 private:
  struct kept_json {
    std::string place;
    std::shared_ptr<const ocdbt_node> node;
  };
  using node_list = std::list<kept_json>;

  result<std::vector<std::byte>> stored(const std::string& path, std::uint64_t offset,
                                        std::uint64_t length) const;
  void keep(std::string place, std::shared_ptr<const ocdbt_node> node) const;

  any_store base_;
  store_key root_;
  std::uint64_t node_bytes_;
  std::uint64_t cache_bytes_;
  mutable std::mutex mutex_;
  mutable node_list nodes_;  ///< the last used first
  mutable std::unordered_map<std::string, node_list::iterator> places_;
  mutable std::uint64_t used_ = 0;
  mutable std::list<std::pair<std::string, std::shared_ptr<const container_file>>> open_;
};

}}}  // namespace zarrpoint::v0::detail
