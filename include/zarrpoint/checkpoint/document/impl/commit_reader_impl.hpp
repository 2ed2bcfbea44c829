// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/commit_reader.hpp>
#include <zarrpoint/checkpoint/document/stored_leaf.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/zarr/json/json_reader.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
  node all;
  if (!read_object(from, all)) return false;
  group_attributes = std::move(*all.if_object());
  for (const node::member& group : group_attributes) {
    if (group.value.if_object() == nullptr) return false;
  }
  sort_members(group_attributes);
  return true;
}

ZARRPOINT_INLINE bool commit_reader::read_object(json_reader& from, node& out) {
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
  node content;
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

}}}  // namespace zarrpoint::v0::detail
