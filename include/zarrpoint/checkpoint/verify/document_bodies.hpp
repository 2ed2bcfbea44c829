// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/checkpoint/verify/verify_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ---------------------------------------------------------------------------- stored_documents.hpp

ZARRPOINT_INLINE error no_own_document() {
  return {errc::corrupt,
          "the consolidated metadata name it, and there is no document of its own: it was removed, "
          "or its document was lost"};
}

/// With the members of every object sorted: some programs sort those that they consolidate.
ZARRPOINT_INLINE json sorted_value(json value) {
  if (json::object* members = value.if_object()) {
    for (json::member& one : *members) one.value = sorted_value(std::move(one.value));
    sort_members(*members);
  } else if (json::array* items = value.if_array()) {
    for (json& one : *items) one = sorted_value(std::move(one));
  }
  return value;
}

/// Members of codecs that a program may leave out: encoders' settings, and what has one default.
inline bool may_be_left_out(const json::member& one) {
  constexpr std::array<std::string_view, 7> settings{
      "acceleration", "blocksize", "checksum", "clevel", "level", "nthreads", "typesize"};
  if (std::find(settings.begin(), settings.end(), one.key) != settings.end()) return true;
  if (one.key == "index_location") return one.value == json("end");
  if (one.key == "endian") return one.value == json("little");
  return one.value.is_null();
}

/// Whether the configurations of codecs are the same, whatever defaults one of them leaves out. A
/// program that consolidates writes those that others leave out, as the `index_location` of a
/// shard.
inline bool agree(const json& a, const json& b) {
  if (a.is_null() != b.is_null())
    return agree(a.is_null() ? json(json::object{}) : a, b.is_null() ? json(json::object{}) : b);
  const json::object* const members = a.if_object();
  const json::object* const others_members = b.if_object();
  if (members != nullptr && others_members != nullptr) {
    const auto is_default = [](const json::member& one) {
      return one.key == "configuration" ? agree(one.value, json()) : may_be_left_out(one);
    };
    return std::all_of(members->begin(), members->end(),
                       [&](const json::member& one) {
                         const json* const other = b.find(one.key);
                         return other != nullptr ? agree(one.value, *other) : is_default(one);
                       }) &&
           std::all_of(others_members->begin(), others_members->end(),
                       [&](const json::member& one) {
                         return a.find(one.key) != nullptr || is_default(one);
                       });
  }
  const json::array* const items = a.if_array();
  const json::array* const others = b.if_array();
  if (items == nullptr || others == nullptr) return a == b;
  return std::equal(items->begin(), items->end(), others->begin(), others->end(), agree);
}

/// The same array, whatever defaults of its codecs are left out, and with any attributes.
ZARRPOINT_INLINE bool same_but_for_defaults(result<array_metadata> first,
                                            result<array_metadata> second) {
  if (!first || !second) return false;
  const auto same = [](const codec_spec& one, const codec_spec& other) {
    return one.name == other.name && agree(one.configuration, other.configuration);
  };
  if (!std::equal(first->codecs.begin(), first->codecs.end(), second->codecs.begin(),
                  second->codecs.end(), same))
    return false;
  first->codecs = second->codecs;
  first->attributes = second->attributes;
  return *first == *second;
}

class consolidation_checker {
 public:
  consolidation_checker(const any_store& store, const checkpoint_contents& own, const context& how)
      : store_(store), own_(own), how_(how), groups_(own.groups.begin(), own.groups.end()) {
    for (const stored_leaf& leaf : own.leaves) {
      // From the nearest: where that is known, so are those above it.
      for (std::size_t at = leaf.name.rfind('/'); at != std::string::npos && at != 0;
           at = leaf.name.rfind('/', at - 1))
        if (!groups_.insert(leaf.name.substr(0, at)).second) break;
    }
  }

  result<consolidation_check> run() {
    check_group({});
    for (const std::string& group : groups_) {
      ZARRPOINT_CHECK(not_stopped(how_));
      check_group(group);
    }
    return std::move(out_);
  }

 private:
  /// The consolidated metadata of one group, by which the findings are named.
  struct consolidation {
    std::string group;
    std::string file;
    std::vector<stored_node> nodes{};  ///< sorted by path, which begins at the root
  };

  static std::string joined(const std::string& group, const std::string& path) {
    return group.empty() ? path : group + '/' + path;
  }

  std::string file_of(const store_key& group, std::string_view name) const {
    const auto key = group.child(name);
    return key ? store_.describe(*key) : std::string(name);
  }

  void add(const std::string& path, const std::string& file, std::string text) {
    out_.findings.push_back({path, file, true, {errc::corrupt, std::move(text)}});
  }

  void check_group(const std::string& group) {
    const auto key = store_key::parse(group);
    if (!key) return;  // said where the node is opened
    auto told = consolidated_in(*key, group);
    if (!told) {
      const errc code = told.failure().code;
      return out_.findings.push_back(
          {group, store_.describe(*key), code == errc::corrupt, std::move(told).failure()});
    }
    if (!*told) return;
    std::sort((*told)->nodes.begin(), (*told)->nodes.end(),
              [](const stored_node& a, const stored_node& b) { return a.path < b.path; });
    for (stored_node& one : (*told)->nodes) check_told(**told, one);
    check_untold(**told);
  }

  result<std::optional<consolidation>> consolidated_in(const store_key& key,
                                                       const std::string& group) {
    ZARRPOINT_TRY(own, read_stored_node(store_, key, how_.limit));
    if (!own || own->kind != node_kind::group) return std::optional<consolidation>();
    consolidation out{group, file_of(key, own->zarr_format == 3 ? "zarr.json" : ".zmetadata")};
    if (own->zarr_format == 3) {
      ZARRPOINT_TRY(nodes, consolidated_nodes(store_, key, *own, how_.limit));
      if (!nodes) return std::optional<consolidation>();
      out.nodes = *std::move(nodes);
    } else {
      ZARRPOINT_TRY(document, read_document(store_, key, ".zmetadata", how_.limit));
      if (!document) return std::optional<consolidation>();
      ZARRPOINT_TRY(nodes, parse_zmetadata(*document).at(out.file));
      if (nodes.empty() || !nodes.front().path.empty())  // sorted
        add(group, out.file, "the consolidated metadata lack the .zgroup of the group itself");
      for (v2_node& one : nodes) {
        if (!one.path.empty()) {
          out.nodes.push_back({std::move(one.path), one.kind, 2, std::move(one.document),
                               std::move(one.attributes)});
        } else if (!same_attributes(&one.attributes, &own->attributes)) {
          add(group, out.file, attributes_differ());
        }
      }
    }
    for (stored_node& one : out.nodes) one.path = joined(group, one.path);
    return std::optional(std::move(out));
  }

  static std::string attributes_differ() {
    return "its attributes in the consolidated metadata differ from its own; write the "
           "consolidated metadata again";
  }

  const stored_leaf* find(const std::string& name) const {
    const auto at = std::lower_bound(
        own_.leaves.begin(), own_.leaves.end(), name,
        [](const stored_leaf& leaf, const std::string& wanted) { return leaf.name < wanted; });
    return at != own_.leaves.end() && at->name == name ? &*at : nullptr;
  }

  static bool same_attributes(const json* a, const json* b) {
    const json first = known_attributes(a);
    const json second = known_attributes(b);
    return same_text(first, second) || same_text(sorted_value(first), sorted_value(second));
  }

  void check_told(const consolidation& in, stored_node& told) {
    const stored_leaf* const leaf = find(told.path);
    if (told.kind == node_kind::group) {
      if (groups_.contains(told.path)) return check_attributes(in, told);
      add(told.path, in.file,
          std::string("the consolidated metadata say that it is a group, and ") +
              (leaf != nullptr ? "it is an array" : "there is none"));
      return;
    }
    if (leaf != nullptr) return check_array(in, told, *leaf);
    if (groups_.contains(told.path))
      return add(told.path, in.file,
                 "the consolidated metadata say that it is an array, and it is a group");
    if (!in.group.empty()) return add(told.path, in.file, no_own_document().message);
    out_.missing.push_back({told.path,
                            {},
                            detail::make_counted<const stored_document>(std::move(told.document)),
                            told.zarr_format,
                            {},
                            std::move(told.attributes)});
  }

  void check_attributes(const consolidation& in, const stored_node& told) {
    json said = told.zarr_format == 3 ? known_attributes(told.document.find("attributes"))
                                      : told.attributes;
    // That of a checkpoint within this hierarchy, which `contents` has not either.
    if (json::object* members = said.if_object())
      std::erase_if(*members, [](const json::member& one) {
        return one.key == commit_document::member_name && one.value.if_object() != nullptr;
      });
    if (!same_attributes(&said, find_sorted(own_.group_attributes, told.path)))
      add(told.path, in.file, attributes_differ());
  }

  void check_array(const consolidation& in, const stored_node& told, const stored_leaf& leaf) {
    const json& own = leaf.document->content();
    const auto match = [&] {
      if (told.zarr_format != leaf.zarr_format) return document_match::different;
      if (told.zarr_format == 2) return compare_v2(told, leaf);
      const document_match as_written = compare_documents(told.document, own);
      if (as_written == document_match::same) return as_written;
      const document_match in_order =
          compare_documents(sorted_value(told.document), sorted_value(own));
      if (in_order != document_match::different ||
          !same_but_for_defaults(parse_array_v3(told.document), parse_array_v3(own)))
        return in_order;
      return same_attributes(told.document.find("attributes"), own.find("attributes"))
                 ? document_match::same
                 : document_match::other_attributes;
    };
    const document_match found = match();
    if (found == document_match::same) return;
    add(leaf.name, in.file,
        found == document_match::other_attributes
            ? attributes_differ()
            : "its consolidated metadata differ from its own document; write the consolidated "
              "metadata again");
  }

  static document_match compare_v2(const stored_node& told, const stored_leaf& leaf) {
    const json& own = leaf.document->content();
    if (!same_text(told.document, own) &&
        !same_text(sorted_value(told.document), sorted_value(own)) &&
        !same_but_for_defaults(parse_array_v2(told.document, nullptr),
                               parse_array_v2(own, nullptr)))
      return document_match::different;
    return same_attributes(&told.attributes, &leaf.attributes) ? document_match::same
                                                               : document_match::other_attributes;
  }

  /// Arrays, and groups that hold none, which the consolidated metadata lack.
  void check_untold(const consolidation& in) {
    const std::string below = in.group.empty() ? std::string() : in.group + '/';
    const auto check = [&](const std::string& name, std::string_view kind) {
      if (name.empty()) return;
      const auto at = std::lower_bound(
          in.nodes.begin(), in.nodes.end(), name,
          [](const stored_node& one, const std::string& wanted) { return one.path < wanted; });
      if (at != in.nodes.end() && at->path == name) return;
      add(name, in.file,
          "the consolidated metadata lack this " + std::string(kind) +
              ": programs that believe them do not see it; write them again");
    };
    auto leaf = std::lower_bound(
        own_.leaves.begin(), own_.leaves.end(), below,
        [](const stored_leaf& one, const std::string& wanted) { return one.name < wanted; });
    for (; leaf != own_.leaves.end() && leaf->name.starts_with(below); ++leaf)
      check(leaf->name, "array");
    auto group = std::lower_bound(own_.groups.begin(), own_.groups.end(), below);
    for (; group != own_.groups.end() && group->starts_with(below); ++group) check(*group, "group");
  }

  const any_store& store_;
  const checkpoint_contents& own_;
  const context& how_;
  std::set<std::string> groups_;  ///< all of them below the root
  consolidation_check out_;
};

ZARRPOINT_INLINE result<consolidation_check> check_consolidated(const any_store& store,
                                                                const checkpoint_contents& contents,
                                                                const context& how) {
  if (!contents.is_told) return consolidation_checker(store, contents, how).run();
  if (store.can_list()) {
    ZARRPOINT_TRY(own, read_contents(store, how, true));
    return consolidation_checker(store, own, how).run();
  }
  // Each node's own document is asked for under the name that was told.
  checkpoint_contents own;
  std::set<std::string> groups(contents.groups.begin(), contents.groups.end());
  for (const json::member& one : contents.group_attributes) groups.insert(one.key);
  const auto add = [&](const std::string& name) -> result<void> {
    ZARRPOINT_CHECK(not_stopped(how));
    const auto key = store_key::parse(name);
    if (!key) return {};  // said where it is opened
    ZARRPOINT_TRY(found, read_stored_node(store, *key, how.limit));
    if (!found) return {};
    if (found->kind == node_kind::array) {
      own.leaves.push_back({name,
                            {},
                            detail::make_counted<const stored_document>(std::move(found->document)),
                            found->zarr_format,
                            {},
                            std::move(found->attributes)});
      return {};
    }
    own.groups.push_back(name);
    json attributes = found->zarr_format == 2
                          ? std::move(found->attributes)
                          : known_attributes(found->document.find("attributes"));
    if (!attributes.is_null()) own.group_attributes.push_back({name, std::move(attributes)});
    return {};
  };
  for (const stored_leaf& leaf : contents.leaves) ZARRPOINT_CHECK(add(leaf.name));
  for (const std::string& group : groups) ZARRPOINT_CHECK(add(group));
  return consolidation_checker(store, own, how).run();
}

ZARRPOINT_INLINE json known_attributes(const json* attributes) {
  if (attributes == nullptr || *attributes == json(json::object{})) return {};
  return *attributes;
}

ZARRPOINT_INLINE bool same_text(const json& a, const json& b) {
  return a == b || dump_json(a) == dump_json(b);
}

/// Without its attributes, sorted by member.
ZARRPOINT_INLINE json without_attributes(json document) {
  if (json::object* members = document.if_object()) {
    std::erase_if(*members, [](const json::member& one) { return one.key == "attributes"; });
    sort_members(*members);
  }
  return document;
}

/// The same array of v3, though another program wrote its document anew. Documents of v2 are
/// compared by their text alone: what is not known there is passed over.
ZARRPOINT_INLINE bool same_array(const json& a, const json& b) {
  const auto first = parse_array_v3(a);
  const auto second = parse_array_v3(b);
  return first && second && *first == *second;
}

ZARRPOINT_INLINE document_match compare_documents(const json& there, const json& wanted) {
  const json bare = without_attributes(there);
  const json bare_wanted = without_attributes(wanted);
  if (!same_text(bare, bare_wanted) && !same_array(bare, bare_wanted))
    return document_match::different;
  const bool same = same_text(known_attributes(there.find("attributes")),
                              known_attributes(wanted.find("attributes")));
  return same ? document_match::same : document_match::other_attributes;
}

/// A consolidation of a group below the root, which is empty, as zarr-python writes it.
ZARRPOINT_INLINE bool is_empty_consolidation(const json& value) {
  if (value.is_null()) return true;
  const json::object* members = value.if_object();
  const json* kind = value.find("kind");
  const json* metadata = value.find("metadata");
  return members != nullptr && members->size() == 3 && kind != nullptr && *kind == json("inline") &&
         may_ignore(value) && metadata != nullptr && *metadata == json(json::object{});
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

  void add(const std::string& path, std::string_view name, error what, bool is_fault = true) {
    const auto key =
        store_key::parse(path.empty() ? std::string(name) : path + '/' + std::string(name));
    out_.push_back({path, key ? store_.describe(*key) : path, is_fault, std::move(what)});
  }
  void add(const std::string& path, std::string_view name, document_match match,
           std::string_view different) {
    if (match == document_match::same) return;
    if (match == document_match::different)
      return add(path, name, {errc::corrupt, std::string(different)});
    add(path, name, {errc::corrupt, std::string(changed_attributes)}, false);
  }

  /// What is there; null, which is told, for what cannot be read.
  std::optional<json> document(const std::string& of, std::string_view name) {
    const auto read = [&]() -> result<std::optional<json>> {
      ZARRPOINT_TRY(key, store_key::parse(of));
      return read_document(store_, key, name, how_.limit);
    };
    auto found = read();
    if (found) return *std::move(found);
    const errc code = found.failure().code;
    add(of, name, std::move(found).failure(), code == errc::corrupt || code == errc::out_of_range);
    return json();
  }

  /// Those that lie above leaves and above groups that hold none.
  result<std::vector<std::string>> all_groups() const {
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
    const json* const mark = there->find(commit_document::member_name);
    if (mark != nullptr && *mark != json(contents_.id))
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

  void check_attributes(const std::string& of, const json& wanted) {
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
  json attributes_of(const std::string& group) const {
    const json* own = find_sorted(contents_.group_attributes, group);
    return own != nullptr ? *own : json();
  }

  void check_group(const std::string& group) {
    const std::string_view name = is_v2_ ? ".zgroup" : "zarr.json";
    const auto there = document(group, name);
    if (!there) return add(group, name, {errc::corrupt, "the document of the group is missing"});
    if (there->is_null()) return;  // said already
    const auto parsed = is_v2_ ? parse_group_v2(*there, nullptr) : parse_group_v3(*there);
    if (!parsed) return add(group, name, parsed.failure());
    const json wanted = attributes_of(group);
    if (is_v2_) return check_attributes(group, wanted);
    if (!same_text(known_attributes(&parsed->attributes), known_attributes(&wanted)))
      add(group, name, document_match::other_attributes, {});
  }

  void check_consolidated(const std::vector<std::string>& groups) {
    const std::string_view file = is_v2_ ? ".zmetadata" : "zarr.json";
    const auto root = document("", file);
    if (!root || root->is_null()) return;
    if (!is_v2_) check_members(*root);
    const json* all = is_v2_ ? &*root : root->find("consolidated_metadata");
    if (all == nullptr || all->is_null()) return;
    const json* documents = all->find("metadata");
    const json* form = all->find(is_v2_ ? "zarr_consolidated_format" : "kind");
    if (documents == nullptr || documents->if_object() == nullptr || form == nullptr ||
        *form != (is_v2_ ? json(1) : json("inline")) || (!is_v2_ && !may_ignore(*all)))
      return add("", file, {errc::corrupt, "the consolidated metadata are damaged"});
    std::map<std::string_view, const json*> by_path;
    for (const auto& [path, said] : *documents->if_object()) by_path.emplace(path, &said);
    const auto said = [&](const std::string& path) {
      const auto at = by_path.find(path);
      return at == by_path.end() ? nullptr : at->second;
    };
    const auto compare = [&](const std::string& path, const json* document, const json& wanted,
                             const json* attributes) {
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
  void check_consolidated_root(const json* group, const json* attributes) {
    if (group == nullptr || !parse_group_v2(*group, nullptr))
      add("", ".zmetadata", {errc::corrupt, "the consolidated metadata of the root are damaged"});
    json own = attributes != nullptr ? *attributes : json();
    if (json::object* members = own.if_object())
      std::erase_if(*members, [](const json::member& one) {
        return one.key == commit_document::member_name;
      });
    if (!same_text(known_attributes(&own), known_attributes(&contents_.attributes)))
      add("", ".zmetadata", document_match::other_attributes, {});
  }

  /// One that is damaged in its name may be passed over, such as the consolidated metadata.
  void check_members(const json& root) {
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
    const json own = attributes_of(group);
    const json* document = said(is_v2_ ? group + "/.zgroup" : group);
    json there = document != nullptr ? *document : json();
    if (json::object* members = there.if_object())
      std::erase_if(*members, [](const json::member& one) {
        return one.key == "consolidated_metadata" && is_empty_consolidation(one.value);
      });
    json wanted(json::object{{"zarr_format", is_v2_ ? 2 : 3}});
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

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/verify/verify_bodies.hpp>
#endif
