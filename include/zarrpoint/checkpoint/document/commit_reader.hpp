// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/zarr/json/json_reader.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Reads a commit document from its text as `save` wrote it: byte by byte, in one pass, without a
/// `json` for each of its values. Whatever is not exactly that (a file that was written anew with
/// white space, a broken seal, an error) it leaves to `parse_commit_document`.
class commit_reader final : public json_member {
 public:
  explicit commit_reader(int zarr_format);

  // Of what was `found`:
  std::string id;
  std::vector<detail::stored_leaf> leaves;
  std::vector<std::string> groups;
  json::object group_attributes;  ///< sorted
  std::string attributes_seal;    ///< empty where there is none

 private:
  static constexpr std::string_view path[] = {"attributes", commit_document::member_name};
  static constexpr std::size_t levels = 5;  ///< of nesting
  /// More are not looked for: that would take longer than to parse one.
  static constexpr std::size_t most_documents = 32;
  /// Of those as many may have attributes: they often differ from leaf to leaf, and must not keep
  /// the others from being shared.
  static constexpr std::size_t most_with_attributes = 8;

  /// The text of a document that was met, and the values in it.
  struct known_document {
    std::string_view text;
    std::size_t values;
    std::shared_ptr<const detail::stored_document> document;
  };

  static_assert(commit_document::current_format == 1, "read() says so, too");

  ZARRPOINT_NO_KEY bool read(json_reader& from) override;
  /// Consolidated metadata repeat the documents of the leaves, and nobody asks for them here.
  ZARRPOINT_NO_KEY bool pass(json_reader& from) override;

  bool read_leaves(json_reader& from);

  bool read_leaf(json_reader& from);

  bool read_groups(json_reader& from);

  bool read_group_attributes(json_reader& from);

  /// An object as it is sealed.
  bool read_object(json_reader& from, json& out);

  /// An object ends where it ends: text that begins with the whole of one holds the same.
  bool read_document(json_reader& from, detail::stored_leaf& leaf);

  bool read_objects(json_reader& from, detail::stored_leaf& leaf);

  const int zarr_format_;
  std::vector<known_document> documents_;  ///< their text is there as long as it is read
  std::size_t with_attributes_ = 0;        ///< of `documents_`
};

}}}  // namespace zarrpoint::v0::detail
