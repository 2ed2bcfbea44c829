// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_merge.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A database beneath another.
struct ocdbt_place_of {
  const any_store& base;
  const store_key& root;  ///< of the other
  std::string folder;     ///< in that
};

/// The keys and values of the newest version of a database in the folder `folder`, "x/" beneath
/// `root`, as changes to the one at `root`.
ZARRPOINT_INLINE result<void> take_over_ocdbt(const ocdbt_place_of& from, ocdbt_changes& changes) {
  ZARRPOINT_TRY(key, from.root.child(from.folder));
  const ocdbt_options reading;
  const auto files = v0::detail::make_counted<const ocdbt_files>(from.base, key, reading.node_bytes,
                                                                 reading.cache_bytes);
  ZARRPOINT_TRY(head, find_ocdbt_head(*files));
  if (!head) return error{errc::not_found, "there is no manifest.ocdbt"};
  ZARRPOINT_TRY(newest, choose_ocdbt_version(*files, head->manifest.versions, {}));
  ZARRPOINT_TRY(tree, ocdbt_tree::open(files, newest.root, newest.file));
  std::map<std::string, std::shared_ptr<ocdbt_data_file>, std::less<>> known;  // by their paths
  ZARRPOINT_CHECK(tree.for_each([&](const ocdbt_item& item) -> result<void> {
    const ocdbt_node::entry& at = item.entry();
    ocdbt_change made;
    if (at.file == ocdbt_node::in_node) {
      const auto value =
          bytes_view(item.leaf->body)
              .subspan(static_cast<std::size_t>(at.offset), static_cast<std::size_t>(at.length));
      made.bytes.assign(value.begin(), value.end());
    } else if (at.length != 0) {
      const ocdbt_file& in = item.leaf->files[at.file];
      const std::string path = item.base + in.base + in.name;
      auto& file = known[path];
      if (file == nullptr) {
        const auto place = key.child(path);
        if (!place || path.empty())
          return error{errc::corrupt, "its data file " + in_quotes(path) + " has no valid path"};
        ocdbt_file id{from.folder + '/' + item.base + in.base, in.name};
        file = v0::detail::make_counted<ocdbt_data_file>(from.base, *place, std::move(id));
      }
      made.file = file;
      made.offset = at.offset;
      made.length = at.length;
      if (at.offset > ~at.length) return error{errc::corrupt, "a value ends beyond all files"};
      file->end = std::max(file->end, at.offset + at.length);
    }
    changes.insert_or_assign(item.key, std::move(made));
    return {};
  }));
  for (const auto& [path, file] : known) {
    ZARRPOINT_TRY(opened, files->data(path));
    if (opened->file().size() < file->end)
      return error{errc::corrupt,
                   "its data file " + in_quotes(path) + " ends before its values do"};
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<ocdbt_version> ocdbt_merge(any_store base, store_key root,
                                                   std::span<const store_key> databases,
                                                   const ocdbt_write_options& how) {
  ZARRPOINT_TRY(merged, ocdbt_writer::open(base, root, how));
  const std::string above = root.is_root() ? std::string() : std::string(root.str()) + '/';
  for (const store_key& one : databases) {
    const std::string context = "merge the OCDBT database " + base.describe(one);
    if (one == root || !one.str().starts_with(above))
      return error{errc::invalid_argument, context + ": it is not beneath " + base.describe(root)};
    ZARRPOINT_CHECK(guarded([&] {
                      const detail::ocdbt_place_of from{
                          base, root, std::string(one.str().substr(above.size()))};
                      return detail::take_over_ocdbt(from, merged.changes());
                    }).at(context));
  }
  return merged.commit();
}

}}  // namespace zarrpoint::v0
