// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_encoder.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_envelope.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer_state.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::string numbered_ocdbt_name(std::uint64_t generation) {
  std::string out(ocdbt_numbered_name);
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[generation >> shift & 15];
  return out;
}

ZARRPOINT_INLINE result<void> ocdbt_writer_state::open(const ocdbt_write_options& how) {
  constexpr std::uint32_t most_inline = std::uint32_t{1} << 20;  // by the format
  if (how.inline_bytes > most_inline)
    return error{errc::invalid_argument, "inline_bytes is more than 1 MiB"};
  if (how.version_arity_log2 < 1 || how.version_arity_log2 > 16)
    return error{errc::invalid_argument, "version_arity_log2 is not 1 to 16"};
  if (how.zstd_level &&
      (*how.zstd_level < zstd_codec::min_level || *how.zstd_level > zstd_codec::max_level))
    return error{errc::invalid_argument, "zstd_level is out of range"};
  const ocdbt_options reading;
  files = v0::detail::make_counted<const ocdbt_files>(base, root, reading.node_bytes,
                                                      reading.cache_bytes);
  ZARRPOINT_TRY(found, find_ocdbt_head(*files));
  if (found) {
    head = std::move(*found);
    ZARRPOINT_TRY(newest, choose_ocdbt_version(*files, head.manifest.versions, {}));
    before = std::move(newest);
    if (head.manifest.configuration.is_numbered &&
        head.name != numbered_ocdbt_name(before.root.generation))
      return error{errc::corrupt, head.name + " has another generation than its name says"};
    ZARRPOINT_CHECK(opened_tree());
    return {};
  }
  ocdbt_configuration& fresh = head.manifest.configuration;
  const auto random = random_bits();
  std::memcpy(fresh.identity.data(), random.data(), fresh.identity.size());
  fresh.inline_bytes = how.inline_bytes;
  fresh.node_bytes = how.node_bytes;
  fresh.arity_log2 = how.version_arity_log2;
  if (how.zstd_level) fresh.zstd_level = *how.zstd_level;
  return {};
}

ZARRPOINT_INLINE result<ocdbt_tree> ocdbt_writer_state::opened_tree() {
  if (!tree) {
    ZARRPOINT_TRY(opened, ocdbt_tree::open(files, before.root, before.file));
    tree = std::move(opened);
  }
  return *tree;
}

ZARRPOINT_INLINE result<bool> ocdbt_writer_state::erase(std::string_view key) {
  const auto at = changes.find(key);
  if (at != changes.end() && at->second.is_erased) return false;
  ZARRPOINT_TRY(now, opened_tree());
  ocdbt_item item;
  ZARRPOINT_TRY(was_there, now.find(key, item));
  ocdbt_change gone;
  gone.is_erased = true;
  if (was_there) {
    changes.insert_or_assign(std::string(key), std::move(gone));
  } else if (at != changes.end()) {
    changes.erase(at);
    return true;
  }
  return was_there;
}

ZARRPOINT_INLINE result<std::vector<list_entry>> ocdbt_writer_state::list(const store_key& prefix) {
  ZARRPOINT_TRY(now, opened_tree());
  ocdbt_item item;
  std::optional<error> failed;
  std::string from;
  std::uint64_t keys = 0;
  bool is_at_end = false;
  // The first key of the version before that is not less and did not change; they are asked for in
  // their order.
  const auto next_stored = [&](std::string_view text) -> const std::string* {
    if (keys > 0 && !is_at_end && item.key >= text) return &item.key;
    from = text;
    while (!is_at_end) {
      const auto found = now.at_least(from, item);
      if (!found) failed = found.failure();
      // Nodes that share children have more keys than bytes.
      if (found && *found && ++keys > before.root.below.keys)
        failed = error{errc::corrupt, "it has more keys than its version says"};
      is_at_end = failed || !*found;
      if (is_at_end || !changes.contains(item.key)) break;
      from = item.key + '\0';
    }
    return is_at_end ? nullptr : &item.key;
  };
  auto out = list_children(prefix, [&](std::string_view text) -> const std::string* {
    auto change = changes.lower_bound(text);
    while (change != changes.end() && change->second.is_erased) ++change;
    const std::string* old = next_stored(text);
    if (failed) return nullptr;
    if (change == changes.end() || (old != nullptr && *old < change->first)) return old;
    return &change->first;
  });
  if (failed) return std::move(*failed);
  for (const list_entry& entry : out)
    if (const char* fault = key_segment_fault(entry.name))
      return error{errc::unsupported,
                   "it has a key beneath it, " + in_quotes(entry.name) + ", with " + fault};
  return out;
}

ZARRPOINT_INLINE result<void> ocdbt_writer_state::check_head() const {
  ZARRPOINT_TRY(now, find_ocdbt_head(*files));
  const bool is_same = now ? now->name == head.name && now->bytes == head.bytes : head.name.empty();
  if (is_same) return {};
  return error{errc::replaced, "another writer has made a version since it was opened"};
}

ZARRPOINT_INLINE result<void> ocdbt_writer_state::put_head(const ocdbt_head& next) {
  ZARRPOINT_TRY(key, root.child(next.name));
  ZARRPOINT_CHECK(check_head());
  data.keep();  // from here on the new version may be there
  auto done = base.put(key, next.bytes);
  if (!done && done.failure().code == errc::outcome_unknown) spent = done.failure();
  return done;
}

ZARRPOINT_INLINE result<ocdbt_version> ocdbt_writer_state::commit() {
  constexpr std::uint64_t kept_manifests = 128;  // as TensorStore does
  if (spent) return *spent;
  if (writers != 0) return error{errc::invalid_argument, "a value is still being written"};
  const ocdbt_configuration& how = head.manifest.configuration;
  ocdbt_tree_writer nodes(*files, data, how);
  ZARRPOINT_TRY(made, nodes.write(before, changes));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  const bool is_first = head.manifest.versions.versions.empty();
  made.root.commit_time = static_cast<std::uint64_t>(std::max<std::int64_t>(time, 1));
  if (!is_first && made.root.commit_time <= before.root.commit_time) {
    if (before.root.commit_time == ~std::uint64_t{0})
      return error{errc::corrupt, "its newest version has the last of all times"};
    made.root.commit_time = before.root.commit_time + 1;
  }
  ocdbt_head next;
  next.manifest = head.manifest;
  ZARRPOINT_CHECK(nodes.add_version(next.manifest.versions, made));
  made.root = next.manifest.versions.versions.back();
  next.name = how.is_numbered ? numbered_ocdbt_name(made.root.generation)
                              : std::string(ocdbt_manifest_name);
  ZARRPOINT_TRY(body, encode_ocdbt_manifest(next.manifest));
  ZARRPOINT_TRY(record, close_ocdbt_envelope(body, ocdbt_manifest_mark, how.zstd_level));
  next.bytes = std::move(record);
  // As readers will see it, and without the files that nothing refers to any more.
  ZARRPOINT_TRY(again, read_ocdbt_manifest(next.bytes, files->node_bytes()));
  next.manifest.versions = std::move(again.versions);
  ZARRPOINT_CHECK(data.finish());
  ZARRPOINT_CHECK(put_head(next));
  head = std::move(next);
  before = std::move(made);
  tree.reset();
  changes.clear();
  if (how.is_numbered && before.root.generation > kept_manifests) {
    // What cannot be erased is only in the way.
    const std::string first = numbered_ocdbt_name(before.root.generation - kept_manifests + 1);
    if (const auto names = numbered_ocdbt_manifests(*files))
      for (const std::string& name : *names)
        if (const auto key = root.child(name); key && name < first)
          static_cast<void>(base.erase(*key));
  }
  return as_ocdbt_version(before.root);
}

}}}  // namespace zarrpoint::v0::detail
