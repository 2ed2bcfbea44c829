// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE node known_attributes(const node* attributes) {
  if (attributes == nullptr || *attributes == node(node::object{})) return {};
  return *attributes;
}

ZARRPOINT_INLINE bool same_text(const node& a, const node& b) {
  return a == b || dump_json(a) == dump_json(b);
}

/// Without its attributes, sorted by member.
ZARRPOINT_INLINE node without_attributes(node document) {
  if (node::object* members = document.if_object()) {
    std::erase_if(*members, [](const node::member& one) { return one.key == "attributes"; });
    sort_members(*members);
  }
  return document;
}

/// The same array of v3, though another program wrote its document anew. Documents of v2 are
/// compared by their text alone: what is not known there is passed over.
ZARRPOINT_INLINE bool same_array(const node& a, const node& b) {
  const auto first = parse_array_v3(a);
  const auto second = parse_array_v3(b);
  return first && second && *first == *second;
}

ZARRPOINT_INLINE document_match compare_documents(const node& there, const node& wanted) {
  const node bare = without_attributes(there);
  const node bare_wanted = without_attributes(wanted);
  if (!same_text(bare, bare_wanted) && !same_array(bare, bare_wanted))
    return document_match::different;
  const bool same = same_text(known_attributes(there.find("attributes")),
                              known_attributes(wanted.find("attributes")));
  return same ? document_match::same : document_match::other_attributes;
}

/// A consolidation of a group below the root, which is empty, as zarr-python writes it.
ZARRPOINT_INLINE bool is_empty_consolidation(const node& value) {
  if (value.is_null()) return true;
  const node::object* members = value.if_object();
  const node* kind = value.find("kind");
  const node* metadata = value.find("metadata");
  return members != nullptr && members->size() == 3 && kind != nullptr && *kind == node("inline") &&
         may_ignore(value) && metadata != nullptr && *metadata == node(node::object{});
}

class document_checker {
 public:
  document_checker(const any_store& store, const checkpoint_contents& contents, const context& how)
      : store_(store), contents_(contents), how_(how), is_v2_(contents.zarr_format == 2) {}

  result<std::vector<document_finding>> run() {
    check_root();
    for (const stored_leaf& leaf : contents_.leaves) {
      ZARRPOINT_CHECK(check_stop());
      check_leaf(leaf);
    }
    ZARRPOINT_TRY(groups, all_groups());
    for (const std::string& group : groups) {
      ZARRPOINT_CHECK(check_stop());
      check_group(group);
    }
    check_consolidated(groups);
    return std::move(out_);
  }

 private:
  result<void> check_stop() const {
    if (how_.stop.stop_requested()) return error{errc::cancelled, "stop was requested"};
    return {};
  }

  void add(const std::string& node, std::string_view name, error what, bool is_fault = true) {
    const auto key =
        store_key::parse(node.empty() ? std::string(name) : node + '/' + std::string(name));
    out_.push_back({node, key ? store_.describe(*key) : node, is_fault, std::move(what)});
  }
  void add(const std::string& node, std::string_view name, document_match match,
           std::string_view different) {
    if (match == document_match::same) return;
    if (match == document_match::different)
      return add(node, name, {errc::corrupt, std::string(different)});
    add(node, name, {errc::corrupt, std::string(changed_attributes)}, false);
  }

  /// What is there; null, which is told, for what cannot be read.
  std::optional<node> document(const std::string& of, std::string_view name) {
    const auto read = [&]() -> result<std::optional<node>> {
      ZARRPOINT_TRY(key, store_key::parse(of));
      return read_document(store_, key, name, how_.limit);
    };
    auto found = read();
    if (found) return *std::move(found);
    const errc code = found.failure().code;
    add(of, name, std::move(found).failure(), code == errc::corrupt || code == errc::out_of_range);
    return node();
  }

  /// Those that lie above leaves and above groups that hold none.
  result<std::set<std::string>> all_groups() const {
    std::vector<std::string_view> names;
    names.reserve(contents_.leaves.size());
    for (const stored_leaf& leaf : contents_.leaves) names.emplace_back(leaf.name);
    return groups_of(names, contents_.groups);
  }

  void check_root() {
    if (contents_.is_changed)
      add("", is_v2_ ? ".zattrs" : "zarr.json", {errc::corrupt, std::string(changed_attributes)},
          false);
    if (!is_v2_) return;
    const auto there = document("", ".zgroup");
    if (!there) return add("", ".zgroup", {errc::corrupt, "the document of the group is missing"});
    if (there->is_null()) return;  // said already
    if (const auto parsed = parse_group_v2(*there, nullptr); !parsed)
      return add("", ".zgroup", parsed.failure());
    const node* const mark = there->find(commit_document::member_name);
    if (mark != nullptr && *mark != node(contents_.id))
      add("", ".zgroup",
          {errc::corrupt, "it tells of another commit document than that of .zattrs, " +
                              contents_.id +
                              ": one of the two is of another checkpoint, or it is damaged"});
    if (contents_.is_sealed && mark == nullptr)
      add("", ".zgroup",
          {errc::corrupt,
           "it does not tell of the commit document: another program wrote it anew, or it is "
           "damaged; `zarrpoint seal` mends it"},
          false);
  }

  void check_attributes(const std::string& of, const node& wanted) {
    const auto there = document(of, ".zattrs");
    if (there && there->is_null()) return;  // said already
    if (!there && !known_attributes(&wanted).is_null())
      return add(of, ".zattrs", {errc::corrupt, "the attributes are missing"});
    if (!same_text(known_attributes(there ? &*there : nullptr), known_attributes(&wanted)))
      add(of, ".zattrs", document_match::other_attributes, {});
  }

  void check_leaf(const stored_leaf& leaf) {
    const std::string_view name = is_v2_ ? ".zarray" : "zarr.json";
    const auto there = document(leaf.name, name);
    if (!there) {
      add(leaf.name, name, {errc::corrupt, "the document of the array is missing"});
    } else if (!there->is_null()) {
      add(leaf.name, name, compare_documents(*there, leaf.document->content()),
          "it differs from the copy in the commit document");
    }
    if (is_v2_) check_attributes(leaf.name, leaf.attributes);
  }

  /// Those of a group, as the commit document has them; null for none.
  node attributes_of(const std::string& group) const {
    const node* own = find_sorted(contents_.group_attributes, group);
    return own != nullptr ? *own : node();
  }

  void check_group(const std::string& group) {
    const std::string_view name = is_v2_ ? ".zgroup" : "zarr.json";
    const auto there = document(group, name);
    if (!there) return add(group, name, {errc::corrupt, "the document of the group is missing"});
    if (there->is_null()) return;  // said already
    const auto parsed = is_v2_ ? parse_group_v2(*there, nullptr) : parse_group_v3(*there);
    if (!parsed) return add(group, name, parsed.failure());
    const node wanted = attributes_of(group);
    if (is_v2_) return check_attributes(group, wanted);
    if (!same_text(known_attributes(&parsed->attributes), known_attributes(&wanted)))
      add(group, name, document_match::other_attributes, {});
  }

  void check_consolidated(const std::set<std::string>& groups) {
    const std::string_view file = is_v2_ ? ".zmetadata" : "zarr.json";
    const auto root = document("", file);
    if (!root || root->is_null()) return;
    if (!is_v2_) check_members(*root);
    const node* all = is_v2_ ? &*root : root->find("consolidated_metadata");
    if (all == nullptr || all->is_null()) return;
    const node* documents = all->find("metadata");
    const node* form = all->find(is_v2_ ? "zarr_consolidated_format" : "kind");
    if (documents == nullptr || documents->if_object() == nullptr || form == nullptr ||
        *form != (is_v2_ ? node(1) : node("inline")) || (!is_v2_ && !may_ignore(*all)))
      return add("", file, {errc::corrupt, "the consolidated metadata are damaged"});
    std::map<std::string_view, const node*> by_path;
    for (const auto& [path, said] : *documents->if_object()) by_path.emplace(path, &said);
    const auto said = [&](const std::string& path) {
      const auto at = by_path.find(path);
      return at == by_path.end() ? nullptr : at->second;
    };
    const auto compare = [&](const std::string& path, const node* document, const node& wanted,
                             const node* attributes) {
      document_match match = document_match::different;
      if (document != nullptr) match = compare_documents(*document, wanted);
      if (match == document_match::same && is_v2_ &&
          !same_text(known_attributes(said(path + "/.zattrs")), known_attributes(attributes)))
        match = document_match::other_attributes;
      if (match == document_match::same) return;
      const std::string of = "the consolidated metadata of " + in_quotes(path);
      if (match == document_match::different)
        add("", file, {errc::corrupt, of + " differ from what the commit document says"});
      else
        add("", file, {errc::corrupt, of + ": " + std::string(changed_attributes)}, false);
    };
    for (const stored_leaf& leaf : contents_.leaves)
      compare(leaf.name, said(is_v2_ ? leaf.name + "/.zarray" : leaf.name),
              leaf.document->content(), &leaf.attributes);
    for (const std::string& group : groups) check_consolidated_group(group, said, compare);
    if (is_v2_) check_consolidated_root(said(".zgroup"), said(".zattrs"));
  }

  /// The root of v2: zarr-python writes our member there, too.
  void check_consolidated_root(const node* group, const node* attributes) {
    if (group == nullptr || !parse_group_v2(*group, nullptr))
      add("", ".zmetadata", {errc::corrupt, "the consolidated metadata of the root are damaged"});
    node own = attributes != nullptr ? *attributes : node();
    if (node::object* members = own.if_object())
      std::erase_if(*members, [](const node::member& one) {
        return one.key == commit_document::member_name;
      });
    if (!same_text(known_attributes(&own), known_attributes(&contents_.attributes)))
      add("", ".zmetadata", document_match::other_attributes, {});
  }

  /// One that is damaged in its name may be passed over, such as the consolidated metadata.
  void check_members(const node& root) {
    if (root.if_object() == nullptr) return;
    for (const auto& [key, value] : *root.if_object()) {
      if (key != "zarr_format" && key != "node_type" && key != "attributes" &&
          key != "consolidated_metadata")
        add("", "zarr.json",
            {errc::corrupt, "the member " + in_quotes(key) +
                                " was not saved: another program wrote it, or it is damaged; "
                                "`zarrpoint seal` takes it away"},
            false);
    }
  }

  template <class Said, class Compare>
  void check_consolidated_group(const std::string& group, Said&& said, Compare&& compare) {
    const node own = attributes_of(group);
    const node* document = said(is_v2_ ? group + "/.zgroup" : group);
    node there = document != nullptr ? *document : node();
    if (node::object* members = there.if_object())
      std::erase_if(*members, [](const node::member& one) {
        return one.key == "consolidated_metadata" && is_empty_consolidation(one.value);
      });
    node wanted(node::object{{"zarr_format", is_v2_ ? 2 : 3}});
    if (!is_v2_) wanted.set("node_type", "group");
    if (!is_v2_ && !own.is_null()) wanted.set("attributes", own);
    compare(group, document != nullptr ? &there : nullptr, wanted, &own);
  }

  const any_store& store_;
  const checkpoint_contents& contents_;
  const context& how_;
  const bool is_v2_;
  std::vector<document_finding> out_;
};

ZARRPOINT_INLINE result<std::vector<document_finding>> check_documents(
    const any_store& store, const checkpoint_contents& contents, const context& how) {
  return document_checker(store, contents, how).run();
}

}}}  // namespace zarrpoint::v0::detail
