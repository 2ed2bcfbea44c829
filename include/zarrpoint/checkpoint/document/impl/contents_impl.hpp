// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/commit_reader.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/document/stored_leaf.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/consolidated_v2.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Finds the arrays of a hierarchy in a store.
class contents_reader {
 public:
  contents_reader(const any_store& store, const context& how, bool by_listing)
      : store_(store), how_(how), by_listing_(by_listing) {}

  result<checkpoint_contents> read() {
    commit_reader commit(3);
    ZARRPOINT_TRY(root, document("zarr.json", &commit));
    if (root) {
      ZARRPOINT_CHECK(
          read_root_v3(*std::move(root), commit).at(store_.describe(key_of("zarr.json"))));
    } else {
      ZARRPOINT_TRY(found, read_root_v2());
      if (!found)
        return error{errc::not_found,
                     store_.describe(store_key::root()) +
                         " is not a Zarr hierarchy: it has no zarr.json, .zgroup or "
                         ".zarray"};
    }
    sort_leaves();
    if (out_.is_told && by_listing_) ZARRPOINT_CHECK(find_own());
    sort_by_text(out_.groups, [](const std::string& one) -> std::string_view { return one; });
    sort_members(out_.group_attributes);
    std::erase_if(out_.groups,
                  [&](const std::string& group) { return is_above(out_.leaves, group); });
    return std::move(out_);
  }

 private:
  /// Deep and wide enough for any model; a hierarchy with a cycle of links would not end otherwise.
  static constexpr std::size_t max_depth = 64;
  static constexpr std::size_t max_nodes = 4'000'000;

  static store_key key_of(std::string_view path) { return *store_key::parse(path); }

  void sort_leaves() {
    sort_by_text(out_.leaves, [](const stored_leaf& one) -> std::string_view { return one.name; });
  }

  /// Whether an array of these, which are sorted, lies beneath the group.
  static bool is_above(const std::vector<stored_leaf>& leaves, const std::string& group) {
    const std::string prefix = group + '/';
    const auto at = std::lower_bound(
        leaves.begin(), leaves.end(), prefix,
        [](const stored_leaf& leaf, const std::string& wanted) { return leaf.name < wanted; });
    return at != leaves.end() && at->name.starts_with(prefix);
  }

  /// A metadata document as it is stored; empty where there is none.
  result<std::vector<std::byte>> text(std::string_view path) {
    ZARRPOINT_TRY(key, store_key::parse(path));
    const std::size_t most = document_limits(how_.limit).max_bytes;
    ZARRPOINT_TRY(bytes, get(store_, key, most));
    // An empty .zarray is the lock file of a process synchronizer.
    if (!bytes) return std::vector<std::byte>();
    bytes_read_ += bytes->size();
    if (how_.limit.memory != SIZE_MAX && bytes_read_ > most)
      return error{errc::resource_limit, "all documents up to " + store_.describe(key) +
                                             " have more than the " + std::to_string(most) +
                                             " bytes that limits::memory has room for"};
    return *std::move(bytes);
  }

  result<node> parse(std::string_view path, bytes_view text, commit_reader* commit) const {
    json_limits most = document_limits(how_.limit);
    most.keep_twice = path.ends_with(".zattrs");
    return parse_json(text, most, commit).at(store_.describe(key_of(path)));
  }

  /// A metadata document, or nothing.
  result<std::optional<node>> document(std::string_view path, commit_reader* commit = nullptr) {
    ZARRPOINT_TRY(bytes, text(path));
    if (bytes.empty()) return std::optional<node>();
    ZARRPOINT_TRY(parsed, parse(path, bytes, commit));
    return std::optional<node>(std::move(parsed));
  }

  /// The `.zattrs` beneath `prefix`; null when there is none.
  result<node> attributes_of(const std::string& prefix) {
    ZARRPOINT_TRY(found, document(prefix + ".zattrs"));
    return found ? *std::move(found) : node();
  }

  /// Takes over the commit document, which is one of `attributes` unless `commit` has it.
  result<void> add_commit(node attributes, commit_reader& commit, int zarr_format) {
    if (!commit.found()) {
      ZARRPOINT_TRY(parsed,
                    parse_commit_document(take_member(attributes, commit_document::member_name)));
      commit.id = std::move(parsed.id);
      commit.groups = std::move(parsed.groups);
      commit.group_attributes = std::move(parsed.group_attributes);
      commit.attributes_seal = std::move(parsed.attributes_seal);
      commit.leaves.clear();
      commit.leaves.reserve(parsed.leaves.size());
      for (leaf_record& leaf : parsed.leaves) {
        commit.leaves.push_back(
            {std::move(leaf.name), std::move(leaf.typestr),
             detail::make_counted<const stored_document>(std::move(leaf.metadata)), zarr_format,
             std::move(leaf.objects), std::move(leaf.attributes)});
      }
    }
    std::erase_if(*attributes.if_object(), [](const node::member& member) {
      return member.key == commit_document::member_name;
    });
    out_.is_sealed = !commit.attributes_seal.empty();
    out_.is_changed = out_.is_sealed && commit.attributes_seal != commit_seal(attributes);
    out_.attributes = std::move(attributes);
    out_.id = std::move(commit.id);
    for (const stored_leaf& leaf : commit.leaves) ZARRPOINT_CHECK(check_name(leaf.name));
    for (const std::string& group : commit.groups) ZARRPOINT_CHECK(check_name(group));
    for (const node::member& group : commit.group_attributes)
      ZARRPOINT_CHECK(check_name(group.key));
    out_.leaves = std::move(commit.leaves);
    out_.groups = std::move(commit.groups);
    out_.group_attributes = std::move(commit.group_attributes);
    return {};
  }

  /// What `save` writes is a key; other writers' names may be none, which is an error on use.
  static result<void> check_name(std::string_view name) {
    ZARRPOINT_CHECK(check_safe_path(name));
    if (const auto key = store_key::parse(name); !key)
      return error{errc::corrupt, key.failure().message};
    return {};
  }

  static result<bool> has_commit(const node& attributes, const commit_reader& commit) {
    if (commit.found()) return true;
    return has_commit_document(attributes);
  }

  result<void> read_root_v3(node root, commit_reader& commit) {
    ZARRPOINT_TRY(kind, parse_node_kind_v3(root));
    if (kind == node_kind::array) {
      if (!commit.found()) return add_array({}, std::move(root), 3);
      // An attribute like any other.
      ZARRPOINT_TRY(whole, document("zarr.json"));
      if (!whole) return error{errc::not_found, "it was removed while it was read"};
      return add_array({}, *std::move(whole), 3);
    }
    ZARRPOINT_TRY(group, parse_group_v3(std::move(root)));
    ZARRPOINT_TRY(is_ours, has_commit(group.attributes, commit));
    if (is_ours) return add_commit(std::move(group.attributes), commit, 3);
    out_.attributes = std::move(group.attributes);
    if (!group.consolidated) return walk();
    out_.is_told = true;
    for (auto& [path, document] : *group.consolidated) {
      ZARRPOINT_TRY(node_kind_there, parse_node_kind_v3(document).at(in_quotes(path)));
      if (node_kind_there == node_kind::array) {
        ZARRPOINT_CHECK(add_array(path, std::move(document), 3));
      } else if (!path.empty()) {
        add_group(path, take_member(document, "attributes"));
      }
    }
    return {};
  }

  result<bool> read_root_v2() {
    ZARRPOINT_TRY(array, document(".zarray"));
    if (array) {
      out_.zarr_format = 2;
      ZARRPOINT_TRY(own, attributes_of(""));
      ZARRPOINT_CHECK(add_array({}, *std::move(array), 2, std::move(own)));
      return true;
    }
    // In this order: of a tree that a save removes `.zgroup` goes first, so that it is not taken
    // for one that never had attributes.
    commit_reader commit(2);
    ZARRPOINT_TRY(attributes, document(".zattrs", &commit));
    ZARRPOINT_TRY(group, document(".zgroup"));
    if (!group) return false;
    out_.zarr_format = 2;
    const auto add = [&]() -> result<bool> {
      ZARRPOINT_TRY(is_ours, has_commit(attributes ? *attributes : node(), commit));
      if (is_ours) ZARRPOINT_CHECK(add_commit(*std::move(attributes), commit, 2));
      return is_ours;
    };
    ZARRPOINT_TRY(is_ours, add().at(store_.describe(key_of(".zattrs"))));
    const node* const mark = group->find(commit_document::member_name);
    if (is_ours) {
      if (mark != nullptr && *mark != node(out_.id)) out_.is_changed = true;
      return true;
    }
    if (mark != nullptr)
      return error{errc::corrupt, store_.describe(key_of(".zattrs")) +
                                      " lacks the commit document that .zgroup tells of"};
    if (attributes) out_.attributes = *std::move(attributes);
    ZARRPOINT_TRY(consolidated, document(".zmetadata"));
    if (!consolidated) {
      ZARRPOINT_CHECK(walk());
      return true;
    }
    out_.is_told = true;
    ZARRPOINT_TRY(documents,
                  parse_zmetadata(*consolidated).at(store_.describe(key_of(".zmetadata"))));
    for (v2_node& one : documents) {
      if (one.kind == node_kind::array) {
        ZARRPOINT_CHECK(add_array(one.path, std::move(one.document), 2, std::move(one.attributes)));
      } else if (!one.path.empty()) {
        add_group(std::move(one.path), std::move(one.attributes));
      }
    }
    return true;
  }

  void add_group(std::string path, node attributes) {
    if (node::object* members = attributes.if_object()) {
      // That of a checkpoint within this hierarchy.
      std::erase_if(*members, [](const node::member& one) {
        return one.key == commit_document::member_name && one.value.if_object() != nullptr;
      });
      if (members->empty()) attributes = node();
    }
    if (!attributes.is_null()) out_.group_attributes.push_back({path, std::move(attributes)});
    out_.groups.push_back(std::move(path));
  }

  result<void> add_array(std::string_view path, node document, int zarr_format,
                         node attributes = {}) {
    return add_array(path, detail::make_counted<const stored_document>(std::move(document)),
                     zarr_format, std::move(attributes));
  }

  result<void> add_array(std::string_view path, std::shared_ptr<const stored_document> document,
                         int zarr_format, node attributes = {}) {
    if (out_.leaves.size() >= max_nodes)
      return error{errc::resource_limit, "more than " + std::to_string(max_nodes) + " arrays"};
    out_.leaves.push_back(
        {std::string(path), {}, std::move(document), zarr_format, {}, std::move(attributes)});
    return {};
  }

  /// Consolidated metadata are as old as they are. Each node's own document counts, where it is
  /// cheap to look for it.
  result<void> find_own() {
    told_ = std::exchange(out_.leaves, {});
    out_.groups.clear();
    out_.group_attributes.clear();
    out_.is_told = false;
    bytes_read_ = 0;
    ZARRPOINT_CHECK(walk());
    sort_leaves();
    return {};
  }

  /// Lists the store.
  result<void> walk() {
    std::vector<std::string> open{""};
    std::size_t seen = 0;
    while (!open.empty()) {
      const std::string group = std::move(open.back());
      open.pop_back();
      ZARRPOINT_TRY(key, store_key::parse(group));
      ZARRPOINT_TRY(children, store_.list(key));
      for (const list_entry& child : children) {
        if (!child.is_prefix) continue;
        if (++seen > max_nodes)
          return error{errc::resource_limit, "more than " + std::to_string(max_nodes) + " nodes"};
        const std::string path = group.empty() ? child.name : group + "/" + child.name;
        if (static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) > max_depth)
          return error{errc::resource_limit, "hierarchy nested deeper than " +
                                                 std::to_string(max_depth) + " at " +
                                                 in_quotes(path)};
        ZARRPOINT_TRY(is_group, visit(path));
        // What was consolidated may lie beneath a group that has no document.
        if (is_group || is_above(told_, path)) open.push_back(path);
      }
    }
    return {};
  }

  /// Adds the array or the group at `path`; tells whether a group is there.
  result<bool> visit(const std::string& path) {
    ZARRPOINT_TRY(v3, next_document(path + "/zarr.json", 3));
    if (v3) {
      ZARRPOINT_TRY(kind, parse_node_kind_v3(v3->content()).at(in_quotes(path)));
      if (kind == node_kind::group) {
        const node* const attributes = v3->content().find("attributes");
        add_group(path, attributes != nullptr ? *attributes : node());
        return true;
      }
      ZARRPOINT_CHECK(add_array(path, std::move(v3), 3));
      return false;
    }
    ZARRPOINT_TRY(v2, next_document(path + "/.zarray", 2));
    if (v2) {
      ZARRPOINT_TRY(own, attributes_of(path + "/"));
      // What is made of a document once has the attributes of the array that it was made for.
      if (!own.is_null()) v2 = detail::make_counted<const stored_document>(v2->content());
      ZARRPOINT_CHECK(add_array(path, std::move(v2), 2, std::move(own)));
      return false;
    }
    ZARRPOINT_TRY(group, document(path + "/.zgroup"));
    if (!group) return false;
    ZARRPOINT_TRY(own, attributes_of(path + "/"));
    add_group(path, std::move(own));
    return true;
  }

  /// The document at `path`, or null. Arrays that follow each other are often alike: then they
  /// share one, which is read once.
  result<std::shared_ptr<const stored_document>> next_document(const std::string& path,
                                                               int zarr_format) {
    ZARRPOINT_TRY(found, text(path));
    if (found.empty()) return std::shared_ptr<const stored_document>();
    if (found == last_text_ && zarr_format == last_format_) return last_;
    ZARRPOINT_TRY(parsed, parse(path, found, nullptr));
    last_ = detail::make_counted<const stored_document>(std::move(parsed));
    last_text_ = std::move(found);
    last_format_ = zarr_format;
    return last_;
  }

  const any_store& store_;
  const context& how_;
  const bool by_listing_;
  std::vector<stored_leaf> told_;  // the arrays that they had
  std::size_t bytes_read_ = 0;     // of all documents
  std::vector<std::byte> last_text_;
  std::shared_ptr<const stored_document> last_;
  int last_format_ = 0;
  checkpoint_contents out_;
};

ZARRPOINT_INLINE std::string checkpoint_contents::format() const {
  if (!container.empty()) return container;
  bool has_v2 = zarr_format == 2, has_v3 = zarr_format == 3;
  for (const stored_leaf& leaf : leaves) (leaf.zarr_format == 2 ? has_v2 : has_v3) = true;
  const bool is_array = leaves.size() == 1 && leaves[0].name.empty();
  return std::string(!has_v2  ? "Zarr v3"
                     : has_v3 ? "Zarr v2 and v3"
                              : "Zarr v2") +
         (is_ours()  ? " checkpoint of zarrpoint"
          : is_array ? " array"
                     : " hierarchy");
}

ZARRPOINT_INLINE result<checkpoint_contents> read_contents(const any_store& store,
                                                           const context& how, bool by_listing) {
  return contents_reader(store, how, by_listing || store.lists_cheaply()).read();
}

}}}  // namespace zarrpoint::v0::detail
