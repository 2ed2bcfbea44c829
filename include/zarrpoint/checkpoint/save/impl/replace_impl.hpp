// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/base/write_threads.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The first that is there names a directory.
inline constexpr std::pair<std::string_view, directory_kind> directory_marks[] = {
    {"metadata.json", directory_kind::megatron},
    {"_CHECKPOINT_METADATA", directory_kind::orbax},
    {"_METADATA", directory_kind::orbax},
    {".metadata", directory_kind::dcp},
    {"zarr.json", directory_kind::zarr},
    {".zgroup", directory_kind::zarr},
    {".zattrs", directory_kind::zarr},
    {".zarray", directory_kind::zarr},
    {"model.safetensors.index.json", directory_kind::safetensors},
    {"model.safetensors", directory_kind::safetensors}};

/// What the files of a directory say; nothing where it is empty.
ZARRPOINT_INLINE result<std::optional<std::vector<directory_kind>>> look_into(
    const any_store& root) {
  std::optional<std::vector<directory_kind>> out;
  if (root.can_list()) {
    ZARRPOINT_TRY(entries, root.list(store_key::root()));
    if (entries.empty()) return out;
    out.emplace();
  }
  for (const auto& [name, kind] : directory_marks) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    const auto file = root.open(key);  // an error for a directory
    if (!file || *file == nullptr) continue;
    if (!out) out.emplace();
    // A common name. Megatron-Core's has some hundred bytes.
    const auto text = get(root, key, kind == directory_kind::megatron ? 1 << 20 : 0);
    const bool is_theirs =
        text && *text && as_text(**text).find("\"sharded_backend\"") != std::string::npos;
    if (kind != directory_kind::megatron || is_theirs) out->push_back(kind);
  }
  return out;
}

ZARRPOINT_INLINE std::string name_of(directory_kind kind, const any_store& root) {
  static constexpr const char* names[] = {
      "a Megatron-Core checkpoint", "an Orbax checkpoint", "a PyTorch (DCP) checkpoint",
      "a Zarr hierarchy of another program, or a damaged one", "a safetensors model"};
  const auto ours = holds_commit(root, limits{});
  if (kind == directory_kind::zarr && ours && *ours) return "a zarrpoint checkpoint";
  return names[static_cast<int>(kind)];
}

ZARRPOINT_INLINE result<bool> check_replace(const stored_place& target, const replace_rule& rule,
                                            const result<own_look>& own) {
  const auto refuse = [&](std::string_view what) {
    return error{errc::already_exists, rule.where + " is " + std::string(what) +
                                           "; nothing was changed; save elsewhere or remove it"};
  };
  if (!target.key.is_root()) {
    // A store may answer for a directory with an error of its own; then it lists something.
    const auto file = target.store.open(target.key);
    if (file && *file != nullptr) return refuse("a file, not " + rule.name);
  }
  const any_store root = beneath(target);
  ZARRPOINT_TRY(found, look_into(root));
  if (!found) return false;
  if (!own) return own.failure();
  // A reader would take one of these for the whole.
  const auto another = std::find_if(found->begin(), found->end(), [&](directory_kind kind) {
    return kind <= directory_kind::zarr && kind != rule.kind &&
           std::find(rule.may_hold.begin(), rule.may_hold.end(), kind) == rule.may_hold.end();
  });
  if (another != found->end())
    return refuse(own->is_whole ? "not only " + rule.name + ", but also " + name_of(*another, root)
                                : name_of(*another, root) + ", not " + rule.name);
  if (own->is_whole && rule.overwrite) return true;
  if (own->is_whole) return refuse("there already, and overwrite is false");
  if (!own->instead.empty()) return refuse(own->instead);
  return refuse((found->empty() ? std::string("a directory with other files")
                                : name_of(found->front(), root)) +
                ", not " + rule.name);
}

ZARRPOINT_INLINE any_store beneath(const stored_place& target) {
  return target.key.is_root() ? target.store : any_store(prefix_store(target.store, target.key));
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> stage(const stored_place& target,
                                                            publish_options how) {
  how.write_behind = &write_threads::make;
  return target.store.stage(target.key, how);
}

ZARRPOINT_INLINE result<void> publish(publication& tree, const std::optional<owned_paths>& owned,
                                      save_summary& report) {
  if (owned) {
    ZARRPOINT_TRY(kept, tree.keep(*owned));
    report.kept = std::move(kept);
  }
  ZARRPOINT_CHECK(tree.commit());
  // The new checkpoint is in its place: that it cannot be told of is not a failure of the save.
  static_cast<void>(guarded([&]() -> result<void> {
    late_entries late = tree.late();
    report.kept.insert(report.kept.end(), late.kept.begin(), late.kept.end());
    sort_names(report.kept);
    report.kept.erase(std::unique(report.kept.begin(), report.kept.end()), report.kept.end());
    if (!late.left.empty()) report.warnings.push_back(std::move(late.left));
    for (std::string& one : late.uncleaned) report.warnings.push_back(std::move(one));
    return {};
  }));
  return {};
}

ZARRPOINT_INLINE void add_documents(const std::string& folder, std::vector<std::string>& out) {
  for (const char* name : {"zarr.json", ".zgroup", ".zattrs", ".zarray", ".zmetadata"})
    out.push_back(folder.empty() ? name : folder + "/" + name);
}

/// Of a root that is an array: all that may be a chunk of it.
ZARRPOINT_INLINE result<void> add_root_chunks(const any_store& root,
                                              std::vector<std::string>& out) {
  ZARRPOINT_TRY(entries, root.list(store_key::root()));
  for (const list_entry& entry : entries) {
    std::string_view name = entry.name;
    if (name == "c" || name.starts_with("c.")) name.remove_prefix(1);
    if (name.find_first_not_of("0123456789.") == name.npos) out.push_back(entry.name);
  }
  return {};
}

/// We wrote nothing that cannot be opened, such as a link or a pipe.
ZARRPOINT_INLINE bool holds_document(const any_store& root, const store_key& folder) {
  for (const char* name : {"zarr.json", ".zgroup", ".zarray"}) {
    const auto key = folder.child(name);
    if (!key) continue;
    const auto document = root.open(*key);
    if (document && *document != nullptr) return true;
  }
  return false;
}

ZARRPOINT_INLINE result<std::vector<std::string>> paths_of_checkpoint(const any_store& root,
                                                                      const context& how) {
  std::vector<std::string> out;
  add_documents({}, out);
  const auto contents = read_contents(root, how);
  if (contents) {
    std::vector<std::string_view> names;
    for (const stored_leaf& leaf : contents->leaves) {
      if (leaf.name.empty()) {
        ZARRPOINT_CHECK(add_root_chunks(root, out));
      } else {
        names.emplace_back(leaf.name);
        out.push_back(leaf.name);
      }
    }
    const auto groups = groups_of(names, contents->groups);
    if (groups)
      for (const std::string& group : *groups) add_documents(group, out);
  } else if (root.can_list()) {
    ZARRPOINT_TRY(entries, root.list(store_key::root()));
    for (const list_entry& entry : entries) {
      const auto folder = store_key::root().child(entry.name);
      if (!entry.is_prefix || !folder) continue;
      if (holds_document(root, *folder)) out.push_back(entry.name);
    }
  }
  sort_names(out);
  return out;
}

}}}  // namespace zarrpoint::v0::detail
