// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/rename.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Copies one object in pieces.
ZARRPOINT_INLINE result<void> copy_object(const blob& from, blob_writer& to) {
  ZARRPOINT_CHECK(to.reserve(from.size()));
  std::vector<std::byte> piece(
      static_cast<std::size_t>(std::min<std::uint64_t>(from.size(), std::uint64_t{4} << 20)));
  for (std::uint64_t at = 0; at < from.size(); at += piece.size()) {
    const mutable_bytes part = mutable_bytes(piece).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(from.size() - at, piece.size())));
    ZARRPOINT_CHECK(from.read(at, part));
    ZARRPOINT_CHECK(to.write(at, part));
  }
  return to.finish();
}

/// Copies `paths` beneath `from` to the same beneath `to`.
ZARRPOINT_INLINE result<void> copy_objects(const tree_place& from, const tree_place& to,
                                           const std::vector<std::string>& paths,
                                           const context& how) {
  return parallel_for(how.executor, paths.size(),
                      [&](std::size_t i) -> result<void> {
                        ZARRPOINT_TRY(source_key, from.key.child(paths[i]));
                        ZARRPOINT_TRY(target_key, to.key.child(paths[i]));
                        ZARRPOINT_TRY(source, from.store.open(source_key));
                        if (source == nullptr) return {};  // erased meanwhile
                        ZARRPOINT_TRY(target, to.store.create(target_key));
                        return copy_object(*source, *target).at("copy " + source->name());
                      },
                      {.stop = how.stop});
}

ZARRPOINT_INLINE result<void> copy_tree(const detail::tree_place& from,
                                        const detail::tree_place& to, const context& how) {
  std::vector<std::string> first, last;
  ZARRPOINT_CHECK(
      detail::for_each_object(from.store, from.key, [&](std::string path) -> result<void> {
        (path.find('/') == path.npos ? last : first).push_back(std::move(path));
        return {};
      }));
  if (first.empty() && last.empty())
    return error{errc::not_found, "copy " + from.store.describe(from.key) + ": nothing is there"};
  if (to.store.can_publish() && !to.key.is_root()) {
    ZARRPOINT_TRY(staged, to.store.stage(to.key, {}));
    const any_store tree = staged->store();
    ZARRPOINT_CHECK(detail::copy_objects(from, {tree, store_key::root()}, first, how));
    ZARRPOINT_CHECK(detail::copy_objects(from, {tree, store_key::root()}, last, how));
    return staged->commit();
  }
  if (to.store.can_list()) {
    ZARRPOINT_TRY(there, to.store.list(to.key));
    if (!there.empty())
      return error{errc::already_exists,
                   "copy to " + to.store.describe(to.key) + ": something is there already"};
  }
  ZARRPOINT_CHECK(detail::copy_objects(from, to, first, how));
  return detail::copy_objects(from, to, last, how);
}

ZARRPOINT_INLINE result<bool> erase_tree(const any_store& store, const store_key& key) {
  auto erased = store.erase_all(key);
  if (erased || erased.failure().code != errc::unsupported) return erased;
  std::vector<std::string> paths;
  ZARRPOINT_CHECK(detail::for_each_object(store, key, [&](std::string path) -> result<void> {
    paths.push_back(std::move(path));
    return {};
  }));
  for (const std::string& path : paths) {
    ZARRPOINT_TRY(full, key.child(path));
    ZARRPOINT_CHECK(store.erase(full));
  }
  return !paths.empty();
}

ZARRPOINT_INLINE result<void> rename_tree(const any_store& store, const store_key& from,
                                          const store_key& to, const context& how) {
  auto renamed = store.rename(from, to);
  if (renamed || renamed.failure().code != errc::unsupported) return renamed;
  ZARRPOINT_CHECK(detail::check_rename(store, from, to));
  ZARRPOINT_CHECK(copy_tree({store, from}, {store, to}, how));
  ZARRPOINT_CHECK(erase_tree(store, from));
  return {};
}

}}}  // namespace zarrpoint::v0::detail
