// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>
#include <zarrpoint/store/base/listing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

struct ocdbt_store::state {
  std::shared_ptr<const detail::ocdbt_files> files;
  detail::ocdbt_versions versions;
  detail::ocdbt_root chosen;
  detail::ocdbt_tree tree;
};

namespace detail {

/// A value that lies within its leaf.
class ocdbt_inline_blob final : public blob {
 public:
  using blob::read;
  ocdbt_inline_blob(std::shared_ptr<const ocdbt_node> leaf, bytes_view value, std::string name)
      : leaf_(std::move(leaf)), value_(value), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return value_.size(); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (!into.empty()) std::memcpy(into.data(), value_.data() + offset, into.size());
    return {};
  }
  result<mapping> map() const override { return mapping(value_, leaf_); }
  std::string name() const override { return name_; }

 private:
  std::shared_ptr<const ocdbt_node> leaf_;
  bytes_view value_;
  std::string name_;
};

inline constexpr std::string_view ocdbt_manifest_name = "manifest.ocdbt";

/// The newest of the files `manifest.<generation in 16 hex digits>`.
ZARRPOINT_INLINE result<std::string> newest_manifest(const ocdbt_files& files) {
  constexpr std::string_view begin = "manifest.";
  ZARRPOINT_TRY(names, files.names());
  std::string out;  // the names sort as the generations do
  for (const list_entry& entry : names) {
    const std::string_view name = entry.name;
    if (entry.is_prefix || name.size() != begin.size() + 16 || !name.starts_with(begin)) continue;
    if (name.find_first_not_of("0123456789abcdef", begin.size()) != name.npos) continue;
    out = std::max(out, entry.name);
  }
  if (out.empty()) return error{errc::corrupt, "it has no numbered manifest"};
  return out;
}

ZARRPOINT_INLINE result<ocdbt_versions> read_versions(const ocdbt_files& files) {
  ZARRPOINT_TRY(stored, files.manifest(ocdbt_manifest_name));
  if (!stored) return error{errc::not_found, "there is no manifest.ocdbt"};
  ZARRPOINT_TRY(manifest, read_ocdbt_manifest(*stored, files.node_bytes()).at(ocdbt_manifest_name));
  if (!manifest.is_numbered) return std::move(manifest.versions);
  ZARRPOINT_TRY(name, newest_manifest(files));
  ZARRPOINT_TRY(bytes, files.manifest(name));
  if (!bytes) return error{errc::corrupt, name + " is missing"};
  ZARRPOINT_TRY(numbered, read_ocdbt_manifest(*bytes, files.node_bytes()).at(name));
  if (numbered.is_numbered) return error{errc::corrupt, name + " has no versions"};
  return std::move(numbered.versions);
}

ZARRPOINT_INLINE ocdbt_version as_version(const ocdbt_root& of) {
  return {of.generation, of.commit_time, of.keys, of.tree_bytes, of.value_bytes};
}

}  // namespace detail

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
  auto files = std::make_shared<const detail::ocdbt_files>(std::move(base), std::move(root),
                                                           how.node_bytes, how.cache_bytes);
  ZARRPOINT_TRY(versions, detail::read_versions(*files));
  const detail::ocdbt_wanted wanted{how.generation ? &*how.generation : nullptr,
                                    how.commit_time ? &*how.commit_time : nullptr};
  ZARRPOINT_TRY(chosen, detail::choose_ocdbt_version(*files, versions, wanted));
  ZARRPOINT_TRY(tree, detail::ocdbt_tree::open(files, chosen.root, chosen.file));
  return ocdbt_store(std::make_shared<const state>(
      state{std::move(files), std::move(versions), chosen.root, std::move(tree)}));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> ocdbt_store::open(const store_key& key) const {
  using made = std::unique_ptr<blob>;
  if (key.is_root()) return made();
  return guarded([&]() -> result<made> {
           detail::ocdbt_item item;
           ZARRPOINT_TRY(is_there, state_->tree.find(key.str(), item));
           if (!is_there) return made();
           const detail::ocdbt_node::entry& at = item.entry();
           if (at.file == detail::ocdbt_node::in_node || at.length == 0) {
             const bytes_view value = at.length == 0
                                          ? bytes_view()
                                          : bytes_view(item.leaf->body)
                                                .subspan(static_cast<std::size_t>(at.offset),
                                                         static_cast<std::size_t>(at.length));
             return made(
                 std::make_unique<detail::ocdbt_inline_blob>(item.leaf, value, describe(key)));
           }
           const detail::ocdbt_file& file = item.leaf->files[at.file];
           const std::string path = item.base + file.base + file.name;
           ZARRPOINT_TRY(data, state_->files->data(path));
           const std::uint64_t size = data->file().size();
           if (at.offset > size || at.length > size - at.offset)
             return error{errc::corrupt, "its data file " + detail::in_quotes(path) +
                                             " ends before its value does"};
           return made(std::make_unique<detail::range_blob>(std::move(data), at.offset, at.length,
                                                            describe(key)));
         })
      .at("open " + describe(key));
}

ZARRPOINT_INLINE std::string ocdbt_store::describe(const store_key& key) const {
  const std::string database = state_->files->describe();
  return key.is_root() ? database : database + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_store::list(const store_key& prefix) const {
  return guarded([&]() -> result<std::vector<list_entry>> {
           detail::ocdbt_item item;
           std::optional<error> failed;
           std::uint64_t keys = 0;
           auto out =
               detail::list_children(prefix, [&](std::string_view text) -> const std::string* {
                 const auto found = state_->tree.at_least(text, item);
                 if (!found) failed = found.failure();
                 // Nodes that share children have more keys than bytes.
                 if (found && *found && ++keys > state_->chosen.keys)
                   failed = error{errc::corrupt, "it has more keys than its version says"};
                 return !failed && *found ? &item.key : nullptr;
               });
           if (failed) return std::move(*failed);
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
  return detail::as_version(state_->chosen);
}

ZARRPOINT_INLINE result<std::vector<ocdbt_version>> ocdbt_store::versions() const {
  return guarded([&]() -> result<std::vector<ocdbt_version>> {
           ZARRPOINT_TRY(roots, detail::list_ocdbt_versions(*state_->files, state_->versions));
           std::vector<ocdbt_version> out;
           out.reserve(roots.size());
           for (const detail::ocdbt_root& root : roots) out.push_back(detail::as_version(root));
           return out;
         })
      .at("the versions of " + describe(store_key::root()));
}

}}  // namespace zarrpoint::v0
