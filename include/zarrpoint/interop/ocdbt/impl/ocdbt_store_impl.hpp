// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>
#include <zarrpoint/store/base/listing.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE ocdbt_options ocdbt_options::within(std::uint64_t memory) const noexcept {
  ocdbt_options out = *this;
  out.node_bytes = std::min(node_bytes, detail::document_bytes_within(memory));
  out.cache_bytes = std::min(cache_bytes, memory / 4);
  return out;
}

struct ocdbt_store::state {
  std::shared_ptr<const detail::ocdbt_files> files;
  detail::ocdbt_versions versions;
  detail::ocdbt_root chosen;
  detail::ocdbt_tree tree;
};

ZARRPOINT_INLINE result<ocdbt_store> ocdbt_store::open(any_store base, store_key root,
                                                       const ocdbt_options& how) {
  const std::string name = base.describe(root);
  auto opened = guarded([&] { return read(std::move(base), std::move(root), how); });
  return std::move(opened).at("open the OCDBT database " + name);
}

ZARRPOINT_INLINE result<ocdbt_store> ocdbt_store::read(any_store base, store_key root,
                                                       const ocdbt_options& how) {
  if (how.generation && how.commit_time)
    return error{errc::invalid_argument, "a generation and a time are asked for: give one of them"};
  auto files = v0::detail::make_counted<const detail::ocdbt_files>(std::move(base), std::move(root),
                                                                   how.node_bytes, how.cache_bytes);
  ZARRPOINT_TRY(head, detail::find_ocdbt_head(*files));
  if (!head) return error{errc::not_found, "there is no manifest.ocdbt"};
  detail::ocdbt_versions versions = std::move(head->manifest.versions);
  const detail::ocdbt_wanted wanted{how.generation ? &*how.generation : nullptr,
                                    how.commit_time ? &*how.commit_time : nullptr};
  ZARRPOINT_TRY(chosen, detail::choose_ocdbt_version(*files, versions, wanted));
  ZARRPOINT_TRY(tree, detail::ocdbt_tree::open(files, chosen.root, chosen.file));
  return ocdbt_store(v0::detail::make_counted<const state>(
      state{std::move(files), std::move(versions), chosen.root, std::move(tree)}));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> ocdbt_store::open(const store_key& key) const {
  using made = std::unique_ptr<blob>;
  if (key.is_root()) return made();
  return guarded([&]() -> result<made> {
           detail::ocdbt_item item;
           ZARRPOINT_TRY(is_there,
                         state_->tree.find(prefix_.value_or("") + std::string(key.str()), item));
           if (!is_there) return made();
           return detail::open_ocdbt_value(*state_->files, item, describe(key));
         })
      .at("open " + describe(key));
}

ZARRPOINT_INLINE bool ocdbt_store::lists_cheaply() const { return state_->files->lists_cheaply(); }

ZARRPOINT_INLINE std::string ocdbt_store::describe(const store_key& key) const {
  const std::string database = state_->files->describe();
  const std::string whole = prefix_.value_or("") + std::string(key.str());
  return whole.empty() ? database
                       : database + ":" + detail::printable(whole, 2 * store_key::max_size);
}

ZARRPOINT_INLINE ocdbt_store ocdbt_store::beneath(std::string_view prefix) const {
  ocdbt_store out = *this;
  out.prefix_ = prefix_.value_or("") + std::string(prefix);
  return out;
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_store::list(const store_key& prefix) const {
  return guarded([&]() -> result<std::vector<list_entry>> {
           detail::ocdbt_item item;
           std::optional<error> failed;
           std::uint64_t keys = 0;
           const std::string above = prefix_.value_or("");
           auto out =
               detail::list_children(prefix, [&](std::string_view text) -> const std::string* {
                 const auto found = state_->tree.at_least(above + std::string(text), item);
                 if (!found) failed = found.failure();
                 // Nodes that share children have more keys than bytes.
                 if (found && *found && ++keys > state_->chosen.below.keys)
                   failed = error{errc::corrupt, "it has more keys than its version says"};
                 if (failed || !*found || !item.key.starts_with(above)) return nullptr;
                 item.key.erase(0, above.size());
                 return &item.key;
               });
           if (failed) return std::move(*failed);
           if (prefix_)
             std::erase_if(out, [](const list_entry& entry) {
               return detail::key_segment_fault(entry.name) != nullptr;
             });
           for (const list_entry& entry : out)
             if (const char* fault = detail::key_segment_fault(entry.name))
               return error{
                   errc::unsupported,
                   "it has a key beneath it, " + detail::in_quotes(entry.name) + ", with " + fault};
           return out;
         })
      .at("list " + describe(prefix));
}

ZARRPOINT_INLINE ocdbt_version ocdbt_store::version() const {
  return detail::as_ocdbt_version(state_->chosen);
}

ZARRPOINT_INLINE result<std::vector<ocdbt_version>> ocdbt_store::versions() const {
  return guarded([&]() -> result<std::vector<ocdbt_version>> {
           ZARRPOINT_TRY(roots, detail::list_ocdbt_versions(*state_->files, state_->versions));
           std::vector<ocdbt_version> out;
           out.reserve(roots.size());
           for (const detail::ocdbt_root& root : roots)
             out.push_back(detail::as_ocdbt_version(root));
           return out;
         })
      .at("the versions of " + describe(store_key::root()));
}

ZARRPOINT_INLINE result<claim> ocdbt::format::sniff(const place_look& at) {
  ZARRPOINT_TRY(is_database, at.has({"manifest.ocdbt"}));
  return is_database ? claim::plain : claim::none;
}

ZARRPOINT_INLINE result<stored_place> ocdbt::format::open(const place_look& at,
                                                          const place_use& use) {
  ZARRPOINT_TRY(is_database, at.has({"manifest.ocdbt"}));
  if (!is_database)
    return error{errc::not_found, "open " + at.path() +
                                      ": there is no OCDBT database: no directory with "
                                      "manifest.ocdbt"};
  ZARRPOINT_TRY(opened, ocdbt_store::open(at.directory(), store_key::root(),
                                          ocdbt_options{}.within(use.memory)));
  return at.within(std::move(opened), "OCDBT database");
}

}}  // namespace zarrpoint::v0
