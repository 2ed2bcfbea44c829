// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_data_file.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_encoder.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_envelope.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The sum, or the largest number: what a database says of itself may be anything.
ZARRPOINT_INLINE void add_to(std::uint64_t& sum, std::uint64_t more) {
  sum = more > ~sum ? ~std::uint64_t{0} : sum + more;
}

ZARRPOINT_INLINE void add_to(ocdbt_statistics& sum, const ocdbt_statistics& more) {
  add_to(sum.keys, more.keys);
  add_to(sum.tree_bytes, more.tree_bytes);
  add_to(sum.value_bytes, more.value_bytes);
}

ZARRPOINT_INLINE ocdbt_leaf_entry leaf_entry(std::string_view key, const ocdbt_change& value) {
  if (value.file == nullptr) return {key, value.bytes};
  return {key, {}, &value.file->id(), value.offset, value.length};
}

ZARRPOINT_INLINE result<ocdbt_choice> ocdbt_tree_writer::write(const ocdbt_choice& before,
                                                               const ocdbt_changes& changes) {
  if (changes.empty()) return before;
  children written;
  std::uint8_t height = 0;
  if (before.root.is_somewhere()) {
    const ocdbt_location& at = before.root.node;
    height = before.root.height;
    ZARRPOINT_TRY(node, files_.node(before.file.base + before.file.name, at.offset, at.length,
                                    before.root.height));
    const ocdbt_node_place root{std::move(node), {}, before.file.base};
    ZARRPOINT_TRY(updated, update({root, {changes.begin(), changes.end()}, nullptr, true}));
    written = std::move(updated);
  } else {
    std::vector<ocdbt_leaf_entry> entries;
    entries.reserve(changes.size());
    for (const auto& [key, value] : changes)
      if (!value.is_erased) entries.push_back(leaf_entry(key, value));
    ZARRPOINT_TRY(leaves, write_leaves(entries, true));
    written = std::move(leaves);
  }
  while (written.size() > 1) {
    if (++height == 0) return error{errc::resource_limit, "its tree becomes higher than 255"};
    ZARRPOINT_TRY(above, write_parents(written, height, true));
    written = std::move(above);
  }
  ocdbt_choice out;
  if (written.empty()) {
    out.root.node = {0, ocdbt_nowhere, ocdbt_nowhere};
    return out;
  }
  out.root.height = height;
  out.root.below = written[0].below;
  out.root.node = {0, written[0].offset, written[0].length};
  out.file = std::move(written[0].file);
  return out;
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::update(const task& of) {
  const ocdbt_node& node = *of.at.node;
  const std::string last = of.at.prefix + std::string(node.key(node.entries.back()));
  if (of.end != nullptr && last >= *of.end)
    return error{errc::corrupt, "a node has a key that its parent does not give to it"};
  return node.height == 0 ? update_leaf(of) : update_parent(of);
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::update_leaf(
    const task& of) {
  const ocdbt_node& node = *of.at.node;
  std::vector<ocdbt_file> files = node.files;
  for (ocdbt_file& file : files) file.base.insert(0, of.at.base);
  std::string keys;  // whole
  keys.reserve(node.keys.size() + of.at.prefix.size() * node.entries.size());
  std::vector<ocdbt_leaf_entry> entries;
  entries.reserve(node.entries.size());
  auto [change, end] = of.changes;
  const auto add_change = [&] {
    if (!change->second.is_erased) entries.push_back(leaf_entry(change->first, change->second));
    ++change;
  };
  for (const ocdbt_node::entry& entry : node.entries) {
    const std::size_t begin = keys.size();
    keys.append(of.at.prefix).append(node.key(entry));
    const std::string_view key = std::string_view(keys).substr(begin);
    while (change != end && change->first < key) add_change();
    if (change != end && change->first == key) {
      add_change();
    } else if (entry.file == ocdbt_node::in_node) {
      entries.push_back(
          {key, bytes_view(node.body).subspan(static_cast<std::size_t>(entry.offset),
                                              static_cast<std::size_t>(entry.length))});
    } else {
      entries.push_back({key, {}, &files[entry.file], entry.offset, entry.length});
    }
  }
  while (change != end) add_change();
  return write_leaves(entries, of.is_root);
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::update_parent(
    const task& of) {
  const ocdbt_node& node = *of.at.node;
  const std::size_t count = node.entries.size();
  std::vector<std::string> keys;
  keys.reserve(count);
  for (const ocdbt_node::entry& entry : node.entries)
    keys.push_back(of.at.prefix + std::string(node.key(entry)));
  children out;
  auto [begin, last] = of.changes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string* end = i + 1 < count ? &keys[i + 1] : of.end;
    auto stop = begin;  // what comes before the first child is the first child's
    while (stop != last && (i + 1 == count || stop->first < keys[i + 1])) ++stop;
    if (begin == stop) {
      const ocdbt_node::entry& entry = node.entries[i];
      const ocdbt_file& file = node.files[entry.file];
      out.push_back({keys[i],
                     of.at.prefix.size() + entry.shared,
                     {of.at.base + file.base, file.name},
                     entry.offset,
                     entry.length,
                     node.below[i]});
      continue;
    }
    ZARRPOINT_TRY(child, ocdbt_child_at(files_, of.at, i));
    ZARRPOINT_TRY(updated, update({child, {begin, stop}, end, false}));
    out.insert(out.end(), std::make_move_iterator(updated.begin()),
               std::make_move_iterator(updated.end()));
    begin = stop;
  }
  return write_parents(out, node.height, of.is_root);
}

/// Nodes of about the same size, none of more than the limit unless it has but `least` entries.
template <class Entry, class F>
std::vector<std::span<const Entry>> ocdbt_tree_writer::split(std::span<const Entry> entries,
                                                             std::size_t least, F&& size) const {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;  // entries of a node, by the format
  std::uint64_t total = 0;
  for (const Entry& entry : entries) total += size(entry);
  const auto parts = [](std::uint64_t all, std::uint64_t each) { return (all + each - 1) / each; };
  std::uint64_t nodes = std::max<std::uint64_t>(1, parts(entries.size(), most));
  if (how_.node_bytes != 0) nodes = std::max(nodes, parts(total, how_.node_bytes));
  const std::uint64_t target = parts(total, nodes);
  std::vector<std::span<const Entry>> out;
  std::size_t begin = 0;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t more = size(entries[i]);
    const std::size_t count = i - begin;
    const bool is_full = used + more > target && count >= least && entries.size() - i >= least;
    if (is_full || count == most) {
      out.push_back(entries.subspan(begin, count));
      begin = i;
      used = 0;
    }
    used += more;
  }
  if (begin < entries.size()) out.push_back(entries.subspan(begin));
  return out;
}

// The estimates of sizes are those by which TensorStore splits nodes.

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::write_leaves(
    std::span<const ocdbt_leaf_entry> entries, bool may_be_root) {
  const auto nodes = split(entries, 1, [](const ocdbt_leaf_entry& of) -> std::uint64_t {
    const std::uint64_t value =
        of.file != nullptr ? 16 + of.file->base.size() + of.file->name.size() : of.value.size();
    return 16 + of.key.size() + value;
  });
  children out;
  out.reserve(nodes.size());
  for (const auto& node : nodes) {
    ocdbt_child child;
    child.key = node.front().key;
    if (!may_be_root || nodes.size() > 1)
      child.shared = common_prefix(node.front().key, node.back().key);
    child.below.keys = node.size();
    for (const ocdbt_leaf_entry& of : node)
      if (of.file != nullptr) add_to(child.below.value_bytes, of.length);
    ZARRPOINT_TRY(body, encode_ocdbt_leaf(node, child.shared));
    ZARRPOINT_CHECK(append_node(body, child));
    out.push_back(std::move(child));
  }
  return out;
}

ZARRPOINT_INLINE result<ocdbt_tree_writer::children> ocdbt_tree_writer::write_parents(
    std::span<const ocdbt_child> entries, std::uint8_t height, bool may_be_root) {
  const auto nodes = split(entries, 2, [](const ocdbt_child& of) -> std::uint64_t {
    return 56 + of.key.size() + of.file.base.size() + of.file.name.size();
  });
  children out;
  out.reserve(nodes.size());
  for (const auto& node : nodes) {
    ocdbt_child child;
    child.key = node.front().key;
    if (!may_be_root || nodes.size() > 1) {
      child.shared = common_prefix(node.front().key, node.back().key);
      for (const ocdbt_child& of : node) child.shared = std::min(child.shared, of.shared);
    }
    for (const ocdbt_child& of : node) add_to(child.below, of.below);
    ZARRPOINT_TRY(body, encode_ocdbt_parent(node, height, child.shared));
    ZARRPOINT_CHECK(append_node(body, child));
    out.push_back(std::move(child));
  }
  return out;
}

ZARRPOINT_INLINE result<void> ocdbt_tree_writer::append_node(bytes_view body, ocdbt_child& out) {
  ZARRPOINT_TRY(record, close_ocdbt_envelope(body, ocdbt_node_mark, how_.zstd_level));
  ZARRPOINT_TRY(placed, to_.append(record));
  out.file = placed.file->id();
  out.offset = placed.offset;
  out.length = record.size();
  add_to(out.below.tree_bytes, record.size());
  return {};
}

// The last versions are in the manifest: those since a multiple of 2^arity. Those before are in a
// node of height 1, whose children have 2^arity versions each, up to the last multiple of
// 2^(2 * arity), and so on.
ZARRPOINT_INLINE result<void> ocdbt_tree_writer::add_version(ocdbt_versions& all,
                                                             const ocdbt_choice& added) {
  const unsigned arity = how_.arity_log2;
  ocdbt_root root = added.root;
  const std::uint64_t last = all.versions.empty() ? 0 : all.versions.back().generation;
  if (last >= ~std::uint64_t{0} - 1)
    return error{errc::corrupt, "its generations cannot be counted further"};
  root.generation = last + 1;
  root.node.file = all.files.size();
  all.files.push_back(added.file);
  if (last == 0 || (last - 1) >> arity == last >> arity) {
    all.versions.push_back(root);
    return {};
  }
  ocdbt_versions newest;
  newest.files = all.files;
  newest.versions = std::exchange(all.versions, {root});
  ZARRPOINT_TRY(leaf, append_versions(all, newest, 0));
  std::optional<ocdbt_version_child> below = leaf;  // what was one lower in the manifest
  std::vector<ocdbt_version_child> older = std::exchange(all.children, {});
  std::uint64_t end = last;
  for (std::uint8_t height = 1; end != 0; ++height) {
    const unsigned bits = (height + 1U) * arity;
    const std::uint64_t begin = bits < 64 ? (end - 1) >> bits << bits : 0;
    const auto is_within = [&](const std::optional<ocdbt_version_child>& of) {
      return of && of->generation > begin && of->generation <= end;
    };
    std::optional<ocdbt_version_child> same;
    if (!older.empty() && older.back().height == height) {
      same = older.back();
      older.pop_back();
    }
    if (is_within(below)) {
      ocdbt_versions node;
      if (is_within(same)) {
        ZARRPOINT_TRY(read, read_children(all, *same));
        node = std::move(read);
      }
      node.children.push_back(*below);
      node.children.back().node.file = node.files.size();
      node.files.push_back(all.files[below->node.file]);
      ZARRPOINT_TRY(made, append_versions(all, node, height));
      all.children.push_back(made);
    } else if (is_within(same)) {
      all.children.push_back(*same);
    }
    below = same;
    end = begin;
  }
  if (!older.empty()) return error{errc::corrupt, "its version tree is higher than it can be"};
  std::reverse(all.children.begin(), all.children.end());
  return {};
}

ZARRPOINT_INLINE result<ocdbt_version_child> ocdbt_tree_writer::append_versions(
    ocdbt_versions& all, const ocdbt_versions& older, std::uint8_t height) {
  ocdbt_version_child out;
  out.height = height;
  if (height == 0) {
    out.generation = older.versions.back().generation;
    out.generations = older.versions.size();
    out.commit_time = older.versions.front().commit_time;
  } else {
    out.generation = older.children.back().generation;
    for (const ocdbt_version_child& child : older.children)
      add_to(out.generations, child.generations);
    out.commit_time = older.children.front().commit_time;
  }
  ZARRPOINT_TRY(body, encode_ocdbt_versions(older, how_.arity_log2, height));
  ZARRPOINT_TRY(record, close_ocdbt_envelope(body, ocdbt_versions_mark, how_.zstd_level));
  ZARRPOINT_TRY(placed, to_.append(record));
  out.node = {all.files.size(), placed.offset, record.size()};
  all.files.push_back(placed.file->id());
  return out;
}

ZARRPOINT_INLINE result<ocdbt_versions> ocdbt_tree_writer::read_children(
    const ocdbt_versions& all, const ocdbt_version_child& of) {
  const ocdbt_file& file = all.files[of.node.file];
  ZARRPOINT_TRY(read, files_.versions(file.base + file.name, of.node, of.height));
  for (ocdbt_file& one : read.files) one.base.insert(0, file.base);
  if (read.children.back().generation != of.generation)
    return error{errc::corrupt, "a node of its version tree has other versions than it says"};
  return read;
}

}}}  // namespace zarrpoint::v0::detail
