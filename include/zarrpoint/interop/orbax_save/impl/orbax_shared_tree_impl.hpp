// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/plan/distribute.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/interop/orbax_save/orbax_shared_tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE void add_path(const std::vector<tree_key>& path, v0::detail::wire_writer& to) {
  to.number(path.size());
  for (const tree_key& key : path) {
    to.flag(key.is_index);
    to.text(key.text);
  }
}

ZARRPOINT_INLINE std::vector<std::byte> encode_containers(
    const std::optional<std::vector<tree_container>>& all) {
  v0::detail::wire_writer to;
  to.flag(all.has_value());
  if (!all) return std::move(to).take();
  for (const tree_container& of : *all) {
    add_path(of.path.keys(), to);
    to.number(static_cast<std::uint64_t>(of.kind));
    to.text(of.type);
    to.number(of.fields.size());
    for (const std::string& field : of.fields) to.text(field);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE std::vector<std::byte> encode_leaves(std::span<const described_leaf> leaves) {
  v0::detail::wire_writer to;
  to.number(leaves.size());
  for (const described_leaf& leaf : leaves) {
    add_path(leaf.path, to);
    to.text(leaf.value_type);
    to.number(leaf.is_empty ? 0 : leaf.text ? 1 : leaf.is_number ? 2 : 3);
    if (leaf.text) to.text(*leaf.text);
    if (!leaf.is_array()) continue;
    to.type(leaf.spec.type);
    to.shape(leaf.spec.shape);
    to.part(leaf.at);
    to.text(leaf.random_key);
    to.flag(leaf.shard_key.has_value());
    if (leaf.shard_key) to.text(*leaf.shard_key);
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<std::vector<described_leaf>> decode_leaves(bytes_view message) {
  v0::detail::wire_reader from(message);
  std::vector<described_leaf> out;
  for (std::size_t n = from.count(3); n > 0 && !from.failed(); --n) {
    described_leaf& leaf = out.emplace_back();
    for (std::size_t keys = from.count(2); keys > 0 && !from.failed(); --keys) {
      const bool is_index = from.flag();
      leaf.path.push_back({from.text(), is_index});
    }
    leaf.value_type = from.text();
    const std::uint64_t kind = from.limited(3);
    leaf.is_empty = kind == 0;
    leaf.is_number = kind == 2;
    if (kind == 1) leaf.text = from.text();
    if (kind < 2) continue;
    leaf.spec.type = from.type();
    leaf.spec.shape = from.shape();
    leaf.at = from.part();
    leaf.random_key = from.text();
    if (from.flag()) leaf.shard_key = from.text();
  }
  ZARRPOINT_CHECK(from.finish());
  return out;
}

/// Whether two processes mean the same leaf, whatever they have of it.
ZARRPOINT_INLINE bool is_same(const described_leaf& a, const described_leaf& b) {
  return a.value_type == b.value_type && a.is_empty == b.is_empty && a.text == b.text &&
         a.is_number == b.is_number && a.spec == b.spec && a.random_key == b.random_key;
}

/// The same in words.
ZARRPOINT_INLINE std::string kind_of(const described_leaf& leaf) {
  if (leaf.is_empty) return "an empty " + leaf.value_type;
  if (leaf.text) return "the text " + v0::detail::in_quotes(*leaf.text);
  std::string out = leaf.is_number ? "a number, " : "";
  out += to_string(leaf.spec);
  if (!leaf.value_type.empty())
    out += " of the value type " + v0::detail::in_quotes(leaf.value_type);
  if (!leaf.random_key.empty()) out += " of a key by " + v0::detail::in_quotes(leaf.random_key);
  return out;
}

/// Whose the leaf is. Two that are not one value may be of one shape at one path.
ZARRPOINT_INLINE std::string owner_of(const described_leaf& leaf) {
  return leaf.shard_key ? "the shard " + v0::detail::in_quotes(*leaf.shard_key) : "a value";
}

class tree_sharer {
 public:
  explicit tree_sharer(std::span<const std::vector<described_leaf>> all) : all_(all) {}

  result<shared_tree> run() {
    out_.parts.resize(all_.size());
    for (std::size_t rank = 0; rank < all_.size(); ++rank)
      for (std::size_t place = 0; place < all_[rank].size(); ++place)
        ZARRPOINT_CHECK(add(rank, place));
    ZARRPOINT_CHECK(check_holders());
    ZARRPOINT_TRY(chosen, v0::detail::distribute(table_));
    ZARRPOINT_CHECK(check_boxes(chosen));
    set_cuts(chosen);
    for (const std::uint32_t i : chosen)
      out_.parts[boxes_[i].rank].push_back({boxes_[i].place, boxes_[i].leaf, leaf_of(i).at});
    for (std::vector<shared_part>& parts : out_.parts)
      v0::detail::sort_by(
          parts, [](const shared_part& a, const shared_part& b) { return a.place < b.place; });
    return std::move(out_);
  }

 private:
  /// A box that a process has.
  struct held_box {
    std::size_t rank;
    std::size_t place;
    std::size_t leaf;
  };
  struct first_holder {
    std::size_t leaf;
    std::size_t rank;
  };

  result<void> add(std::size_t rank, std::size_t place) {
    const described_leaf& leaf = all_[rank][place];
    const auto [at, is_new] = first_.try_emplace(leaf.path, first_holder{out_.leaves.size(), rank});
    if (is_new) {
      described_leaf& whole = out_.leaves.emplace_back(leaf);
      if (leaf.is_array()) whole.at = box::whole(leaf.spec.shape);
      holders_.push_back(0);
    } else if (const auto& known = out_.leaves[at->second.leaf]; !is_same(known, leaf)) {
      return bad_tree("the leaf " + v0::detail::in_quotes(leaf.name()) + " is " + kind_of(known) +
                      " to rank " + std::to_string(at->second.rank) + " and " + kind_of(leaf) +
                      " to rank " + std::to_string(rank));
    } else if (known.shard_key != leaf.shard_key) {
      return bad_tree("the path " + v0::detail::in_quotes(leaf.name()) + " is that of " +
                      owner_of(known) + " to rank " + std::to_string(at->second.rank) + " and of " +
                      owner_of(leaf) + " to rank " + std::to_string(rank));
    } else if (at->second.rank == rank && !leaf.is_array()) {
      return bad_tree("rank " + std::to_string(rank) + " has two leaves of the path " +
                      v0::detail::in_quotes(leaf.name()));
    }
    if (!leaf.is_array()) return {};
    ZARRPOINT_CHECK(selection(leaf.at)
                        .check(leaf.spec.shape)
                        .at("the leaf " + v0::detail::in_quotes(leaf.name()) + " of rank " +
                            std::to_string(rank)));
    const std::size_t number = at->second.leaf;
    if (leaf.at.empty() || (leaf.is_number && holders_[number] != 0)) return {};
    ++holders_[number];
    boxes_.push_back({rank, place, number});
    return table_.add(static_cast<int>(rank), shard_of(leaf));
  }

  static shard_metadata shard_of(const described_leaf& leaf) {
    shard_metadata out;
    out.key = leaf.path.empty() ? "()" : leaf.name();  // a tree that is one leaf has no name for it
    out.type = leaf.spec.type;
    out.local_shape = leaf.at.shape;
    out.global_shape = leaf.spec.shape;
    out.global_offset = leaf.at.offset;
    return out;
  }

  /// An array of which nobody has an element is in no table.
  result<void> check_holders() const {
    for (std::size_t i = 0; i < out_.leaves.size(); ++i) {
      const described_leaf& leaf = out_.leaves[i];
      if (!leaf.is_array() || leaf.at.empty() || holders_[i] != 0) continue;
      return bad_tree("the leaf " + v0::detail::in_quotes(leaf.name()) +
                      ": no process has an element of it");
    }
    return {};
  }

  const described_leaf& leaf_of(std::uint32_t chosen) const {
    const held_box& at = boxes_[chosen];
    return all_[at.rank][at.place];
  }

  result<void> check_boxes(std::span<const std::uint32_t> chosen) const {
    v0::detail::shard_table once;
    for (const std::uint32_t i : chosen)
      ZARRPOINT_CHECK(once.add(static_cast<int>(boxes_[i].rank), shard_of(leaf_of(i))));
    return v0::detail::validate_sharding(once);
  }

  void set_cuts(std::span<const std::uint32_t> chosen) {
    out_.cuts.resize(out_.leaves.size());
    for (const std::uint32_t i : chosen) {
      const described_leaf& leaf = leaf_of(i);
      auto& [unit, largest] = out_.cuts[boxes_[i].leaf];
      if (unit.empty()) unit = dims(leaf.at.rank(), 0);
      for (std::size_t d = 0; d < unit.rank(); ++d)
        for (const index_t edge : {leaf.at.offset[d], leaf.at.offset[d] + leaf.at.shape[d]})
          if (edge != leaf.spec.shape[d]) unit[d] = std::gcd(unit[d], edge);
      largest = std::max(largest, element_count(leaf.at.shape).value_or(0));
    }
    for (auto& [unit, largest] : out_.cuts)
      if (std::all_of(unit.begin(), unit.end(), [](index_t n) { return n == 0; })) unit = dims();
  }

  std::span<const std::vector<described_leaf>> all_;
  shared_tree out_;
  std::map<std::vector<tree_key>, first_holder, path_is_before> first_;
  std::vector<std::size_t> holders_;  ///< of each leaf, with elements
  v0::detail::shard_table table_;
  std::vector<held_box> boxes_;  ///< those of the table
};

ZARRPOINT_INLINE result<shared_tree> share_tree(std::span<const std::vector<described_leaf>> all) {
  return tree_sharer(all).run();
}

}}}}  // namespace zarrpoint::v0::orbax::detail
