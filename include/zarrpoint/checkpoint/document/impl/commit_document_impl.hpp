// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/version.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

inline constexpr std::string_view absent_crc = "--------";

ZARRPOINT_INLINE void append_hex(std::string& text, std::uint32_t value) {
  char digits[8];
  for (char& digit : digits) {
    digit = "0123456789abcdef"[value >> 28];
    value <<= 4;
  }
  text.append(digits, sizeof digits);
}

ZARRPOINT_INLINE std::string commit_seal(const node& unsealed) {
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

ZARRPOINT_INLINE const node* find_sorted(const node::object& members, std::string_view key) {
  const auto at = std::lower_bound(
      members.begin(), members.end(), key,
      [](const node::member& one, std::string_view wanted) { return one.key < wanted; });
  return at != members.end() && at->key == key ? &at->value : nullptr;
}

ZARRPOINT_INLINE void sort_members(node::object& members) {
  sort_by_text(members, [](const node::member& one) -> std::string_view { return one.key; });
}

ZARRPOINT_INLINE node take_member(node& from, std::string_view key) {
  node* member = from.find(key);
  return member != nullptr ? std::exchange(*member, node()) : node();
}

ZARRPOINT_INLINE result<bool> has_commit_document(const node& attributes) {
  const node* ours = attributes.find(commit_document::member_name);
  if (ours != nullptr && ours->if_object() != nullptr) return true;
  const node::object* members = attributes.if_object();
  if (members == nullptr) return false;
  for (const node::member& one : *members) {
    int found = 0;
    for (const std::string_view key : {"format", "writer", "id", "leaves", "crc32c"})
      if (one.value.find(key) != nullptr) ++found;
    if (found >= 4)
      return bad_commit("it stands under the name " + in_quotes(one.key) +
                        ", not \"zarrpoint\": the file is damaged");
  }
  return false;
}

ZARRPOINT_INLINE result<std::string> take_string(node& from, std::string_view key) {
  node* value = from.find(key);
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

ZARRPOINT_INLINE result<object_digest> parse_object_digest(node::member& from) {
  object_digest object;
  const node* size = from.value.find("size");
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

ZARRPOINT_INLINE result<leaf_record> parse_leaf_record(node& from) {
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
  node* objects = from.find("objects");
  if (objects == nullptr || objects->if_object() == nullptr)
    return bad_commit("leaf \"" + leaf.name + "\" has no list of objects");
  for (node::member& member : *objects->if_object()) {
    ZARRPOINT_TRY(object, parse_object_digest(member));
    leaf.objects.set(std::move(member.key), std::move(object));
  }
  return leaf;
}

ZARRPOINT_INLINE result<node::object> parse_group_attributes(node from) {
  if (from.is_null()) return node::object();
  node::object* groups = from.if_object();
  if (groups == nullptr) return bad_commit("member \"group_attributes\" is not an object");
  for (const node::member& group : *groups) {
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

ZARRPOINT_INLINE result<commit_document> parse_commit_document(node from) {
  if (from.if_object() == nullptr) return detail::bad_commit("not an object");
  const node* format = from.find("format");
  const auto number = format != nullptr ? format->to_int64() : std::nullopt;
  if (!number) return detail::bad_commit("member \"format\" is missing or is not an integer");
  if (*number != commit_document::current_format)
    return error{errc::unsupported, "the commit document has format " + std::to_string(*number) +
                                        "; this build reads " +
                                        std::to_string(commit_document::current_format)};
  ZARRPOINT_TRY(seal, detail::take_string(from, "crc32c"));
  std::erase_if(*from.if_object(), [](const node::member& m) { return m.key == "crc32c"; });
  if (seal != detail::commit_seal(from))
    return detail::bad_commit("its checksum does not match: the file was changed after the commit");
  commit_document document;
  ZARRPOINT_TRY(id, detail::take_string(from, "id"));
  document.id = std::move(id);
  node* leaves = from.find("leaves");
  if (leaves == nullptr || leaves->if_array() == nullptr)
    return detail::bad_commit("the list of leaves is missing");
  document.leaves.reserve(leaves->if_array()->size());
  for (node& leaf : *leaves->if_array()) {
    ZARRPOINT_TRY(record, detail::parse_leaf_record(leaf));
    document.leaves.push_back(std::move(record));
  }
  ZARRPOINT_TRY(group_attributes,
                detail::parse_group_attributes(detail::take_member(from, "group_attributes")));
  document.group_attributes = std::move(group_attributes);
  node attributes_seal = detail::take_member(from, detail::attributes_seal_name);
  if (std::string* text = attributes_seal.if_string()) document.attributes_seal = std::move(*text);
  node groups = detail::take_member(from, "groups");
  if (groups.is_null()) return document;
  if (groups.if_array() == nullptr) return detail::bad_commit("the list of groups is missing");
  for (node& group : *groups.if_array()) {
    if (group.if_string() == nullptr) return detail::bad_commit("a group has no name");
    document.groups.push_back(std::move(*group.if_string()));
  }
  return document;
}

}}}  // namespace zarrpoint::v0::detail
