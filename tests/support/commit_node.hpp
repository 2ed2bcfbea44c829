// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/version.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A commit document as a node, member by member: what `append_commit` writes as text is compared
/// with it.
namespace commit_node {

using namespace zarrpoint;

inline json to_json(const detail::commit_document& document) {
  json::array leaves;
  for (const leaf_record& leaf : document.leaves) {
    json::object objects;
    for (const auto& [key, object] : leaf.objects.objects()) {
      std::string hex;
      for (const auto& value : object.crc32c) {
        if (value) {
          detail::append_hex(hex, *value);
        } else {
          hex += "--------";
        }
      }
      objects.push_back({key, json::object{{"size", object.size}, {"crc32c", std::move(hex)}}});
    }
    json members =
        json::object{{"name", leaf.name}, {"typestr", leaf.typestr}, {"metadata", leaf.metadata}};
    if (!leaf.attributes.is_null()) members.set("attributes", leaf.attributes);
    members.set("objects", std::move(objects));
    leaves.push_back(std::move(members));
  }
  const std::string writer = "zarrpoint " + std::to_string(ZARRPOINT_VERSION_MAJOR) + "." +
                             std::to_string(ZARRPOINT_VERSION_MINOR) + "." +
                             std::to_string(ZARRPOINT_VERSION_PATCH);
  json out = json::object{{"format", 1}, {"writer", writer}, {"id", document.id}};
  out.set("leaves", std::move(leaves));
  if (!document.groups.empty()) {
    json::array groups;
    for (const std::string& group : document.groups) groups.emplace_back(group);
    out.set("groups", std::move(groups));
  }
  if (!document.group_attributes.empty()) out.set("group_attributes", document.group_attributes);
  if (!document.attributes_seal.empty()) out.set("attributes_crc32c", document.attributes_seal);
  out.set("crc32c", detail::commit_seal(out));
  return out;
}

/// The text that the library writes.
inline std::string written(const detail::commit_document& document) {
  std::vector<std::string> documents;
  for (const leaf_record& leaf : document.leaves) documents.push_back(dump_json(leaf.metadata));
  const std::vector<std::string_view> views(documents.begin(), documents.end());
  std::string out;
  detail::append_commit(out, document, document.attributes_seal, views);
  return out;
}

}  // namespace commit_node
