// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<ocdbt_tree> ocdbt_tree::open(std::shared_ptr<const ocdbt_files> files,
                                                     const ocdbt_root& at, const ocdbt_file& file) {
  ocdbt_tree out;
  out.files_ = std::move(files);
  if (!at.is_somewhere()) return out;
  ZARRPOINT_TRY(node,
                out.files_->node(file.base + file.name, at.node.offset, at.node.length, at.height));
  out.root_ = {std::move(node), {}, file.base};
  return out;
}

ZARRPOINT_INLINE result<ocdbt_node_place> ocdbt_child_at(const ocdbt_files& files,
                                                         const ocdbt_node_place& of,
                                                         std::size_t index) {
  const ocdbt_node::entry& entry = of.node->entries[index];
  const ocdbt_file& file = of.node->files[entry.file];
  const std::string_view key = of.node->key(entry);
  std::string base = of.base + file.base;
  ZARRPOINT_TRY(node, files.node(base + file.name, entry.offset, entry.length,
                                 static_cast<std::uint8_t>(of.node->height - 1)));
  // Where a child begins before its parent says, a search could visit all nodes.
  if (node->key(node->entries[0]) < key.substr(entry.shared))
    return error{errc::corrupt, "a node begins with a key that its parent does not give to it"};
  return ocdbt_node_place{std::move(node), of.prefix + std::string(key.substr(0, entry.shared)),
                          std::move(base)};
}

ZARRPOINT_INLINE result<bool> ocdbt_tree::find(std::string_view key, ocdbt_item& out) const {
  if (root_.node == nullptr) return false;
  ocdbt_node_place at = root_;
  std::string_view rest = key;
  while (true) {
    std::size_t index = at.node->lower_bound(rest);
    const bool is_equal =
        index < at.node->entries.size() && at.node->key(at.node->entries[index]) == rest;
    if (at.node->height == 0) {
      if (is_equal) out = {std::string(key), std::move(at.base), std::move(at.node), index};
      return is_equal;
    }
    if (!is_equal && index-- == 0) return false;
    const ocdbt_node::entry& entry = at.node->entries[index];
    const std::string_view shared = at.node->key(entry).substr(0, entry.shared);
    if (!rest.starts_with(shared)) return false;
    rest.remove_prefix(shared.size());
    ZARRPOINT_TRY(below, ocdbt_child_at(*files_, at, index));
    at = std::move(below);
  }
}

ZARRPOINT_INLINE result<bool> ocdbt_tree::at_least(std::string_view key, ocdbt_item& out) const {
  if (root_.node == nullptr) return false;
  return at_least(root_, key, out);
}

// As deep as the tree is high, which is at most 255.
ZARRPOINT_INLINE result<bool> ocdbt_tree::at_least(const ocdbt_node_place& of, std::string_view key,
                                                   ocdbt_item& out) const {
  const ocdbt_node& node = *of.node;
  std::size_t index = node.lower_bound(key);
  if (node.height == 0) {
    if (index == node.entries.size()) return false;
    out = {of.prefix + std::string(node.key(node.entries[index])), of.base, of.node, index};
    return true;
  }
  const bool is_equal = index < node.entries.size() && node.key(node.entries[index]) == key;
  if (!is_equal && index > 0) --index;  // the child before may reach so far
  for (; index < node.entries.size(); ++index) {
    const std::string_view shared =
        node.key(node.entries[index]).substr(0, node.entries[index].shared);
    const std::string_view head = key.substr(0, shared.size());
    if (head > shared) continue;  // all of its keys are less
    ZARRPOINT_TRY(below, ocdbt_child_at(*files_, of, index));
    const std::string_view rest = head == shared ? key.substr(shared.size()) : std::string_view();
    ZARRPOINT_TRY(is_found, at_least(below, rest, out));
    if (is_found) return true;
  }
  return false;
}

struct ocdbt_tree::walk {
  const std::function<result<void>(const ocdbt_item&)>& take;
  std::set<std::pair<std::string, std::uint64_t>> met;  ///< files and offsets of nodes
};

ZARRPOINT_INLINE result<void> ocdbt_tree::for_each(
    const std::function<result<void>(const ocdbt_item&)>& take) const {
  if (root_.node == nullptr) return {};
  walk how{take, {}};
  return visit(root_, how);
}

ZARRPOINT_INLINE result<void> ocdbt_tree::visit(const ocdbt_node_place& of, walk& how) const {
  const ocdbt_node& node = *of.node;
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const ocdbt_node::entry& entry = node.entries[i];
    if (node.height == 0) {
      ZARRPOINT_CHECK(how.take({of.prefix + std::string(node.key(entry)), of.base, of.node, i}));
      continue;
    }
    const ocdbt_file& file = node.files[entry.file];
    // Nodes that share children have more keys than bytes.
    if (!how.met.emplace(of.base + file.base + file.name, entry.offset).second)
      return error{errc::corrupt, "two nodes have the same child"};
    ZARRPOINT_TRY(below, ocdbt_child_at(*files_, of, i));
    ZARRPOINT_CHECK(visit(below, how));
  }
  return {};
}

/// The last of `records`, in their order, for which `is_wanted` holds; null if there is none.
template <class Records, class F>
auto last_where(const Records& records, F&& is_wanted) -> const typename Records::value_type* {
  const auto at = std::find_if(records.rbegin(), records.rend(), is_wanted);
  return at == records.rend() ? nullptr : &*at;
}

/// The first of `records` whose last generation is not less; null if there is none.
template <class Records>
const typename Records::value_type* first_reaching(const Records& records,
                                                   std::uint64_t generation) {
  const auto at = std::find_if(records.begin(), records.end(),
                               [&](const auto& record) { return record.generation >= generation; });
  return at == records.end() ? nullptr : &*at;
}

/// The record that leads to what is wanted.
template <class Records>
const typename Records::value_type* towards(const Records& records, const ocdbt_wanted& wanted) {
  if (wanted.generation != nullptr) return first_reaching(records, *wanted.generation);
  return last_where(records, [&](const auto& record) {
    return wanted.commit_time == nullptr || record.commit_time <= *wanted.commit_time;
  });
}

ZARRPOINT_INLINE result<ocdbt_choice> choose_ocdbt_version(const ocdbt_files& files,
                                                           const ocdbt_versions& all,
                                                           const ocdbt_wanted& wanted) {
  ocdbt_versions read;  // what `at` is once a node was read
  const ocdbt_versions* at = &all;
  std::string base;
  while (true) {
    // What is in nodes is older.
    const ocdbt_version_child* older =
        wanted.generation != nullptr ? first_reaching(at->children, *wanted.generation) : nullptr;
    const ocdbt_root* found = older == nullptr ? towards(at->versions, wanted) : nullptr;
    if (found != nullptr) {
      if (wanted.generation != nullptr && found->generation != *wanted.generation) break;
      ocdbt_file file = at->files[found->node.file];
      file.base.insert(0, base);
      return ocdbt_choice{*found, std::move(file)};
    }
    if (older == nullptr) older = towards(at->children, wanted);
    if (older == nullptr) break;
    const ocdbt_file file = at->files[older->node.file];
    base += file.base;
    ZARRPOINT_TRY(below, files.versions(base + file.name, older->node, older->height));
    read = std::move(below);
    at = &read;
  }
  if (wanted.generation != nullptr)
    return error{errc::not_found, "it has no generation " + std::to_string(*wanted.generation) +
                                      "; the newest is " +
                                      std::to_string(all.versions.back().generation)};
  return error{errc::not_found, "it has no version that is as old"};
}

/// Adds those beneath a node. As deep as its height, which falls on the way down.
ZARRPOINT_INLINE result<void> add_versions(const ocdbt_files& files, const ocdbt_versions& of,
                                           const std::string& base, std::vector<ocdbt_root>& out) {
  constexpr std::size_t most = std::size_t{1} << 20;
  for (const ocdbt_version_child& child : of.children) {
    const ocdbt_file& file = of.files[child.node.file];
    const std::string below = base + file.base;
    ZARRPOINT_TRY(read, files.versions(below + file.name, child.node, child.height));
    ZARRPOINT_CHECK(add_versions(files, read, below, out));
    if (out.empty() || out.back().generation != child.generation)
      return error{errc::corrupt, "a node of its version tree has other versions than it says"};
  }
  out.insert(out.end(), of.versions.begin(), of.versions.end());
  if (out.size() > most)
    return error{errc::resource_limit, "it has more than " + std::to_string(most) + " versions"};
  return {};
}

ZARRPOINT_INLINE result<std::vector<ocdbt_root>> list_ocdbt_versions(const ocdbt_files& files,
                                                                     const ocdbt_versions& all) {
  std::vector<ocdbt_root> out;
  ZARRPOINT_CHECK(add_versions(files, all, {}, out));
  const auto is_before = [](const ocdbt_root& a, const ocdbt_root& b) {
    return a.generation >= b.generation;
  };
  if (std::adjacent_find(out.begin(), out.end(), is_before) != out.end())
    return error{errc::corrupt, "its versions are not in order"};
  return out;
}

}}}  // namespace zarrpoint::v0::detail
