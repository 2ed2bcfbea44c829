// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/commit_reader.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/version.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <charconv>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ----------------------------------------------------------------------------- commit_document.hpp

inline constexpr std::string_view absent_crc = "--------";

ZARRPOINT_INLINE void append_hex(std::string& text, std::uint32_t value) {
  char digits[8];
  for (char& digit : digits) {
    digit = "0123456789abcdef"[value >> 28];
    value <<= 4;
  }
  text.append(digits, sizeof digits);
}

ZARRPOINT_INLINE std::string commit_seal(const json& unsealed) {
  return text_seal(dump_json(unsealed, json_style::compact));
}

ZARRPOINT_INLINE std::string text_seal(std::string_view text) {
  std::string seal;
  append_hex(seal, crc32c(as_bytes(text)));
  return seal;
}

ZARRPOINT_INLINE error bad_commit(std::string_view what) {
  return {errc::corrupt, "commit document: " + std::string(what)};
}

ZARRPOINT_INLINE const json* find_sorted(const json::object& members, std::string_view key) {
  const auto at = std::lower_bound(
      members.begin(), members.end(), key,
      [](const json::member& one, std::string_view wanted) { return one.key < wanted; });
  return at != members.end() && at->key == key ? &at->value : nullptr;
}

ZARRPOINT_INLINE void sort_members(json::object& members) {
  sort_by_text(members, [](const json::member& one) -> std::string_view { return one.key; });
}

ZARRPOINT_INLINE json take_member(json& from, std::string_view key) {
  json* member = from.find(key);
  return member != nullptr ? std::exchange(*member, json()) : json();
}

ZARRPOINT_INLINE result<bool> has_commit_document(const json& attributes) {
  if (attributes.find_object(commit_document::member_name) != nullptr) return true;
  const json::object* members = attributes.if_object();
  if (members == nullptr) return false;
  for (const json::member& one : *members) {
    int found = 0;
    for (const std::string_view key : {"format", "writer", "id", "leaves", "crc32c"})
      if (one.value.find(key) != nullptr) ++found;
    if (found >= 4)
      return bad_commit("it stands under the name " + in_quotes(one.key) +
                        ", not \"zarrpoint\": the file is damaged");
  }
  return false;
}

ZARRPOINT_INLINE result<std::string> take_string(json& from, std::string_view key) {
  json* value = from.find(key);
  std::string* text = value != nullptr ? value->if_string() : nullptr;
  if (text == nullptr)
    return bad_commit("member \"" + std::string(key) + "\" is missing or is not a string");
  return std::move(*text);
}

ZARRPOINT_INLINE bool parse_digests(std::string_view hex, object_digest& object) {
  if (hex.size() % 8 != 0) return false;
  object.crc32c.reserve(hex.size() / 8);
  for (; !hex.empty(); hex.remove_prefix(8)) {
    const std::string_view digits = hex.substr(0, 8);
    if (digits == absent_crc) {
      object.crc32c.emplace_back();
      continue;
    }
    std::uint32_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + 8, value, 16);
    if (status != std::errc() || end != digits.data() + 8) return false;
    object.crc32c.emplace_back(value);
  }
  return true;
}

ZARRPOINT_INLINE result<object_digest> parse_object_digest(json::member& from) {
  object_digest object;
  const json* size = from.value.find("size");
  const auto bytes = size != nullptr ? size->to_uint64() : std::nullopt;
  if (!bytes) return bad_commit("object \"" + from.key + "\" has no size");
  object.size = *bytes;
  ZARRPOINT_TRY(hex, take_string(from.value, "crc32c"));
  if (hex.size() % 8 != 0)
    return bad_commit("object \"" + from.key + "\" has a list of checksums that is cut short");
  if (!parse_digests(hex, object))
    return bad_commit("object \"" + from.key + "\" has a checksum that is not hexadecimal");
  return object;
}

ZARRPOINT_INLINE result<leaf_record> parse_leaf_record(json& from) {
  leaf_record leaf;
  ZARRPOINT_TRY(name, take_string(from, "name"));
  leaf.name = std::move(name);
  ZARRPOINT_TRY(typestr, take_string(from, "typestr"));
  leaf.typestr = std::move(typestr);
  leaf.metadata = take_member(from, "metadata");
  if (leaf.metadata.if_object() == nullptr)
    return bad_commit("leaf \"" + leaf.name + "\" has no metadata");
  leaf.attributes = take_member(from, "attributes");
  if (!leaf.attributes.is_null() && leaf.attributes.if_object() == nullptr)
    return bad_commit("the attributes of leaf \"" + leaf.name + "\" are not an object");
  json* objects = from.find("objects");
  if (objects == nullptr || objects->if_object() == nullptr)
    return bad_commit("leaf \"" + leaf.name + "\" has no list of objects");
  for (json::member& member : *objects->if_object()) {
    ZARRPOINT_TRY(object, parse_object_digest(member));
    leaf.objects.set(std::move(member.key), std::move(object));
  }
  return leaf;
}

ZARRPOINT_INLINE result<json::object> parse_group_attributes(json from) {
  if (from.is_null()) return json::object();
  json::object* groups = from.if_object();
  if (groups == nullptr) return bad_commit("member \"group_attributes\" is not an object");
  for (const json::member& group : *groups) {
    if (group.value.if_object() == nullptr)
      return bad_commit("the attributes of group \"" + group.key + "\" are not an object");
  }
  sort_members(*groups);
  return std::move(*groups);
}

/// `"key":` behind what was there.
ZARRPOINT_INLINE void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  write_json_string(out, key);
  out += ':';
}

ZARRPOINT_INLINE void append_text(std::string& out, std::string_view key, std::string_view text) {
  append_key(out, key);
  write_json_string(out, text);
}

ZARRPOINT_INLINE void append_objects(std::string& out, const chunk_digests& objects) {
  out += ",\"objects\":{";
  for (const auto& [key, object] : objects.objects()) {
    append_key(out, key);
    out.append("{\"size\":").append(std::to_string(object.size)).append(",\"crc32c\":\"");
    for (const auto& value : object.crc32c) {
      if (value) {
        append_hex(out, *value);
      } else {
        out += absent_crc;
      }
    }
    out += "\"}";
  }
  out += '}';
}

ZARRPOINT_INLINE void append_commit(std::string& out, const commit_document& document,
                                    const std::string& attributes_seal,
                                    std::span<const std::string_view> documents) {
  const std::size_t begin = out.size();
  out.append("{\"format\":").append(std::to_string(commit_document::current_format));
  append_text(out, "writer",
              "zarrpoint " + std::to_string(ZARRPOINT_VERSION_MAJOR) + "." +
                  std::to_string(ZARRPOINT_VERSION_MINOR) + "." +
                  std::to_string(ZARRPOINT_VERSION_PATCH));
  append_text(out, "id", document.id);
  append_key(out, "leaves");
  out += '[';
  for (std::size_t i = 0; i < document.leaves.size(); ++i) {
    const leaf_record& leaf = document.leaves[i];
    out.append(i == 0 ? "{" : ",{").append("\"name\":");
    write_json_string(out, leaf.name);
    out += ",\"typestr\":";
    write_json_string(out, leaf.typestr);
    out.append(",\"metadata\":").append(documents[i]);
    if (!leaf.attributes.is_null()) {
      append_key(out, "attributes");
      out += dump_json(leaf.attributes);
    }
    append_objects(out, leaf.objects);
    out += '}';
  }
  out += ']';
  if (!document.groups.empty()) {
    append_key(out, "groups");
    for (std::size_t i = 0; i < document.groups.size(); ++i) {
      out += i == 0 ? '[' : ',';
      write_json_string(out, document.groups[i]);
    }
    out += ']';
  }
  if (!document.group_attributes.empty()) {
    append_key(out, "group_attributes");
    out += dump_json(document.group_attributes);
  }
  if (!attributes_seal.empty()) append_text(out, attributes_seal_name, attributes_seal);
  // The seal is that of the text without it.
  out += '}';
  const std::string seal = text_seal(std::string_view(out).substr(begin));
  out.pop_back();
  append_text(out, "crc32c", seal);
  out += '}';
}

ZARRPOINT_INLINE result<commit_document> parse_commit_document(json from) {
  if (from.if_object() == nullptr) return detail::bad_commit("not an object");
  const json* format = from.find("format");
  const auto number = format != nullptr ? format->to_int64() : std::nullopt;
  if (!number) return detail::bad_commit("member \"format\" is missing or is not an integer");
  if (*number != commit_document::current_format)
    return error{errc::unsupported, "the commit document has format " + std::to_string(*number) +
                                        "; open_delta of <zarrpoint/delta.hpp> "
                                        "reads 2, a delta"};
  ZARRPOINT_TRY(seal, detail::take_string(from, "crc32c"));
  std::erase_if(*from.if_object(), [](const json::member& m) { return m.key == "crc32c"; });
  if (seal != detail::commit_seal(from))
    return detail::bad_commit("its checksum does not match: the file was changed after the commit");
  commit_document document;
  ZARRPOINT_TRY(id, detail::take_string(from, "id"));
  document.id = std::move(id);
  json* leaves = from.find("leaves");
  if (leaves == nullptr || leaves->if_array() == nullptr)
    return detail::bad_commit("the list of leaves is missing");
  document.leaves.reserve(leaves->if_array()->size());
  for (json& leaf : *leaves->if_array()) {
    ZARRPOINT_TRY(record, detail::parse_leaf_record(leaf));
    document.leaves.push_back(std::move(record));
  }
  ZARRPOINT_TRY(group_attributes,
                detail::parse_group_attributes(detail::take_member(from, "group_attributes")));
  document.group_attributes = std::move(group_attributes);
  json attributes_seal = detail::take_member(from, detail::attributes_seal_name);
  if (std::string* text = attributes_seal.if_string()) document.attributes_seal = std::move(*text);
  json groups = detail::take_member(from, "groups");
  if (groups.is_null()) return document;
  if (groups.if_array() == nullptr) return detail::bad_commit("the list of groups is missing");
  for (json& group : *groups.if_array()) {
    if (group.if_string() == nullptr) return detail::bad_commit("a group has no name");
    document.groups.push_back(std::move(*group.if_string()));
  }
  return document;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<std::string>> groups_of(std::span<const std::string_view> names,
                                                            std::span<const std::string> empty) {
  std::vector<std::string> groups;
  std::size_t room = 1024;
  const auto keep_one_of_each = [&] {
    detail::sort_names(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  };
  std::string_view last;  // the parent of the one before: neighbours often have the same
  const auto add_parents = [&](std::string_view name) {
    const std::string_view parent = name.substr(0, name.rfind('/') + 1);
    if (parent == last) return;
    last = parent;
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
      groups.emplace_back(name.substr(0, at));
    if (groups.size() < room) return;
    keep_one_of_each();
    room = 2 * groups.size() + 1024;
  };
  std::vector<detail::named_place> all;
  all.reserve(names.size());
  for (const std::string_view name : names) {
    if (auto is_path = detail::check_node_path(name); !is_path)
      return std::move(is_path).failure().at("leaf " + detail::in_quotes(name));
    add_parents(name);
    all.push_back({name, all.size()});
  }
  for (const std::string& group : empty) {
    ZARRPOINT_CHECK(detail::check_node_path(group).at("group " + detail::in_quotes(group)));
    add_parents(group);
    groups.push_back(group);
  }
  keep_one_of_each();
  for (const std::string& group : groups) all.push_back({group, all.size()});
  if (const detail::named_place* twice = detail::find_twice(all); twice != nullptr)
    return error{errc::invalid_argument,
                 twice->place < names.size()
                     ? "leaf " + detail::in_quotes(twice->text) + " is named twice"
                     : detail::in_quotes(twice->text) +
                           " cannot be a leaf: other leaves lie below that name"};
  return groups;
}

namespace detail {

// ------------------------------------------------------------------------------- commit_reader.hpp

ZARRPOINT_INLINE commit_reader::commit_reader(int zarr_format)
    : json_member(std::span(path).last(zarr_format == 2 ? 1 : 2)), zarr_format_(zarr_format) {}

ZARRPOINT_INLINE bool commit_reader::read(json_reader& from) {
  id.clear();
  leaves.clear();
  groups.clear();
  group_attributes.clear();
  attributes_seal.clear();
  documents_.clear();
  with_attributes_ = 0;
  const std::string_view text = from.rest();
  std::string writer;
  // The document, its leaves, one of them, its objects, one of them.
  if (!from.descend(levels) || !from.take_text(R"({"format":1,"writer":)") ||
      !from.read_plain_string(writer) || !from.take_text(R"(,"id":)") ||
      !from.read_plain_string(id) || !from.take_text(R"(,"leaves":[)") || !read_leaves(from) ||
      !read_groups(from) || !read_group_attributes(from) ||
      (from.take_text(R"(,"attributes_crc32c":)") &&
       !(from.read_plain_string(attributes_seal) && from.count_values(1))))
    return false;
  const std::string_view sealed = text.substr(0, text.size() - from.rest().size());
  std::string seal;
  append_hex(seal, crc32c(as_bytes("}"), crc32c(as_bytes(sealed))));
  from.ascend(levels);
  // The document, its format, writer, id, leaves and seal.
  return from.take_text(R"(,"crc32c":")") && from.take_text(seal) && from.take_text("\"}") &&
         from.count_values(6);
}

ZARRPOINT_INLINE bool commit_reader::read_leaves(json_reader& from) {
  if (from.take_text("]")) return true;
  do {
    if (!read_leaf(from)) return false;
  } while (from.take_text(","));
  return from.take_text("]");
}

/// There only if there are such groups, as is the next one.
ZARRPOINT_INLINE bool commit_reader::read_groups(json_reader& from) {
  if (!from.take_text(R"(,"groups":[)")) return true;
  do {
    if (!from.read_plain_string(groups.emplace_back())) return false;
  } while (from.take_text(","));
  return from.take_text("]") && from.count_values(1 + groups.size());
}

ZARRPOINT_INLINE bool commit_reader::read_group_attributes(json_reader& from) {
  if (!from.take_text(R"(,"group_attributes":)")) return true;
  json all;
  if (!read_object(from, all)) return false;
  group_attributes = std::move(*all.if_object());
  for (const json::member& group : group_attributes) {
    if (group.value.if_object() == nullptr) return false;
  }
  sort_members(group_attributes);
  return true;
}

ZARRPOINT_INLINE bool commit_reader::read_object(json_reader& from, json& out) {
  const std::string_view text = from.rest();
  return from.read_value(out) && out.if_object() != nullptr &&
         dump_json(out) == text.substr(0, text.size() - from.rest().size());
}

ZARRPOINT_INLINE bool commit_reader::read_leaf(json_reader& from) {
  detail::stored_leaf& leaf = leaves.emplace_back();
  leaf.zarr_format = zarr_format_;
  return from.take_text(R"({"name":)") && from.read_plain_string(leaf.name) &&
         from.take_text(R"(,"typestr":)") && from.read_plain_string(leaf.typestr) &&
         from.take_text(R"(,"metadata":)") && read_document(from, leaf) &&
         (!from.take_text(R"(,"attributes":)") || read_object(from, leaf.attributes)) &&
         from.take_text(R"(,"objects":{)") && read_objects(from, leaf) && from.take_text("}") &&
         from.count_values(4);
}

ZARRPOINT_INLINE bool commit_reader::pass(json_reader& from) {
  for (const known_document& one : documents_) {
    // The reader has counted the object itself.
    if (one.values - 1 <= from.values_left() && from.take_text(one.text))
      return from.count_values(one.values - 1);
  }
  return false;
}

ZARRPOINT_INLINE bool commit_reader::read_document(json_reader& from, detail::stored_leaf& leaf) {
  for (const known_document& one : documents_) {
    if (!from.take_text(one.text)) continue;
    leaf.document = one.document;
    return from.count_values(one.values);
  }
  const std::string_view text = from.rest();
  const std::size_t before = from.values_left();
  json content;
  if (!read_object(from, content)) return false;
  const std::string_view own = text.substr(0, text.size() - from.rest().size());
  const bool has_attributes = content.find("attributes") != nullptr;
  leaf.document = detail::make_counted<const detail::stored_document>(std::move(content));
  if (documents_.size() == most_documents ||
      (has_attributes && with_attributes_ == most_with_attributes))
    return true;
  documents_.push_back({own, before - from.values_left(), leaf.document});
  if (has_attributes) ++with_attributes_;
  return true;
}

ZARRPOINT_INLINE bool commit_reader::read_objects(json_reader& from, detail::stored_leaf& leaf) {
  if (from.take_text("}")) return true;
  do {
    std::string key, hex;
    object_digest object;
    if (!from.read_plain_string(key) || !from.take_text(R"(:{"size":)") ||
        !from.read_uint64(object.size) || !from.take_text(R"(,"crc32c":)") ||
        !from.read_plain_string(hex) || !from.take_text("}") || !from.count_values(3) ||
        !parse_digests(hex, object) || leaf.objects.find(key) != nullptr)
      return false;
    leaf.objects.set(std::move(key), std::move(object));
  } while (from.take_text(","));
  return from.take_text("}");
}

// ------------------------------------------------------------------------------------ contents.hpp

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

  result<json> parse(std::string_view path, bytes_view text, commit_reader* commit) const {
    json_limits most = document_limits(how_.limit);
    most.keep_twice = path.ends_with(".zattrs");
    return parse_json(text, most, commit).at(store_.describe(key_of(path)));
  }

  /// A metadata document, or nothing.
  result<std::optional<json>> document(std::string_view path, commit_reader* commit = nullptr) {
    ZARRPOINT_TRY(bytes, text(path));
    if (bytes.empty()) return std::optional<json>();
    ZARRPOINT_TRY(parsed, parse(path, bytes, commit));
    return std::optional<json>(std::move(parsed));
  }

  /// The `.zattrs` beneath `prefix`; null when there is none.
  result<json> attributes_of(const std::string& prefix) {
    ZARRPOINT_TRY(found, document(prefix + ".zattrs"));
    return found ? *std::move(found) : json();
  }

  /// Takes over the commit document, which is one of `attributes` unless `commit` has it.
  result<void> add_commit(json attributes, commit_reader& commit, int zarr_format) {
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
    std::erase_if(*attributes.if_object(), [](const json::member& member) {
      return member.key == commit_document::member_name;
    });
    out_.is_sealed = !commit.attributes_seal.empty();
    out_.is_changed = out_.is_sealed && commit.attributes_seal != commit_seal(attributes);
    out_.attributes = std::move(attributes);
    out_.id = std::move(commit.id);
    for (const stored_leaf& leaf : commit.leaves) ZARRPOINT_CHECK(check_name(leaf.name));
    for (const std::string& group : commit.groups) ZARRPOINT_CHECK(check_name(group));
    for (const json::member& group : commit.group_attributes)
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

  static result<bool> has_commit(const json& attributes, const commit_reader& commit) {
    if (commit.found()) return true;
    return has_commit_document(attributes);
  }

  result<void> read_root_v3(json root, commit_reader& commit) {
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
      ZARRPOINT_TRY(is_ours, has_commit(attributes ? *attributes : json(), commit));
      if (is_ours) ZARRPOINT_CHECK(add_commit(*std::move(attributes), commit, 2));
      return is_ours;
    };
    ZARRPOINT_TRY(is_ours, add().at(store_.describe(key_of(".zattrs"))));
    const json* const mark = group->find(commit_document::member_name);
    if (is_ours) {
      if (mark != nullptr && *mark != json(out_.id)) out_.is_changed = true;
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

  void add_group(std::string path, json attributes) {
    if (json::object* members = attributes.if_object()) {
      // That of a checkpoint within this hierarchy.
      std::erase_if(*members, [](const json::member& one) {
        return one.key == commit_document::member_name && one.value.if_object() != nullptr;
      });
      if (members->empty()) attributes = json();
    }
    if (!attributes.is_null()) out_.group_attributes.push_back({path, std::move(attributes)});
    out_.groups.push_back(std::move(path));
  }

  result<void> add_array(std::string_view path, json document, int zarr_format,
                         json attributes = {}) {
    return add_array(path, detail::make_counted<const stored_document>(std::move(document)),
                     zarr_format, std::move(attributes));
  }

  result<void> add_array(std::string_view path, std::shared_ptr<const stored_document> document,
                         int zarr_format, json attributes = {}) {
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
        const json* const attributes = v3->content().find("attributes");
        add_group(path, attributes != nullptr ? *attributes : json());
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

  /// A document that was read.
  struct recent_document {
    std::vector<std::byte> text;
    int zarr_format = 0;
    std::shared_ptr<const stored_document> document;
  };

  /// The document at `path`, or null. The layers of a model have the same arrays, one after the
  /// other: those that are alike share one, which is parsed once.
  result<std::shared_ptr<const stored_document>> next_document(const std::string& path,
                                                               int zarr_format) {
    ZARRPOINT_TRY(found, text(path));
    if (found.empty()) return std::shared_ptr<const stored_document>();
    for (const recent_document& one : recent_)
      if (found == one.text && zarr_format == one.zarr_format) return one.document;
    ZARRPOINT_TRY(parsed, parse(path, found, nullptr));
    recent_document& to = recent_[parsed_++ % std::size(recent_)];
    to.document = detail::make_counted<const stored_document>(std::move(parsed));
    to.text.swap(found);
    to.zarr_format = zarr_format;
    return to.document;
  }

  const any_store& store_;
  const context& how_;
  const bool by_listing_;
  std::vector<stored_leaf> told_;  // the arrays that they had
  std::size_t bytes_read_ = 0;     // of all documents
  recent_document recent_[32];
  std::size_t parsed_ = 0;
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

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/array_bodies.hpp>
#endif
