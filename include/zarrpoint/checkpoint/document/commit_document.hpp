// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// One leaf of a checkpoint.
struct leaf_record {
  std::string name;
  std::string typestr;    ///< the handler that wrote it
  json metadata;          ///< its array document: `zarr.json`, or `.zarray`
  chunk_digests objects;  ///< every object that holds its data
  json attributes{};      ///< the `.zattrs` of a v2 array; null when there are none

  friend bool operator==(const leaf_record&, const leaf_record&) = default;
};

namespace detail {

/// What makes a hierarchy a checkpoint of ours: the member `zarrpoint` of the root group's
/// attributes, in the one file that is written last. docs/format.md gives it byte by byte.
struct commit_document {
  static constexpr std::string_view member_name = "zarrpoint";
  static constexpr int current_format = 1;

  std::string id;  ///< 128 random bits in hex: two saves are never taken for one
  std::vector<leaf_record> leaves;
  std::vector<std::string> groups{};  ///< those that hold no leaf, sorted
  json::object group_attributes{};    ///< of the groups below the root that have some, sorted
  /// The checksum of the root's other attributes, as `commit_seal` has it; empty in checkpoints
  /// that were written before there was one.
  std::string attributes_seal{};

  friend bool operator==(const commit_document&, const commit_document&) = default;
};

inline constexpr std::string_view attributes_seal_name = "attributes_crc32c";

void append_hex(std::string& text, std::uint32_t value);

/// The checksum of a text, in hex.
std::string text_seal(std::string_view text);

/// The checksum of a commit document's node, which has no member `crc32c` yet; or of the attributes
/// beside it, without our member.
std::string commit_seal(const json& unsealed);

/// Whether a root's attributes hold a commit document. Errors: `corrupt` where one stands under
/// another name, as a damaged bit makes it: it would be taken for a hierarchy of others.
result<bool> has_commit_document(const json& attributes);

/// Appends the text of a document, sealed with its own checksum and with `attributes_seal` in place
/// of the document's own, if it is not empty. `documents` are the compact text of the metadata of
/// each leaf: as text they are made once for all leaves that have the same.
void append_commit(std::string& out, const commit_document& document,
                   const std::string& attributes_seal, std::span<const std::string_view> documents);

/// The value of that key among members sorted by their keys; null when there is none.
const json* find_sorted(const json::object& members, std::string_view key);

/// Sorts members by their keys.
void sort_members(json::object& members);

/// Takes a member out of an object; null when it has none of that key.
json take_member(json& from, std::string_view key);

/// The checksums of an object from their digits, eight for each; false for text that is not such.
bool parse_digests(std::string_view hex, object_digest& object);

/// The document in `from`, which is taken apart: it may be tens of megabytes. Errors: `corrupt`
/// when a member is missing or the seal is broken, `unsupported` for a format of a later version.
result<commit_document> parse_commit_document(json from);

}  // namespace detail

/// The groups that a set of leaf names implies: every proper prefix, without the root. Those of
/// `empty`, which need hold no leaf, are added. Sorted, so that parents stand before children.
/// Errors: `invalid_argument` when a name is not a path of Zarr node names, is there twice, or is
/// both a leaf and a group.
result<std::vector<std::string>> groups_of(std::span<const std::string_view> names,
                                           std::span<const std::string> empty = {});

}}  // namespace zarrpoint::v0
