// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What a file holds under a name and this library has no elements for. It is shown as an array
/// whose data type is `type`, which no reader knows, so that a load of it is `unsupported`, and
/// whose attribute `unread` tells the reason.
struct unread_entry {
  std::string type;    ///< what the format calls it: a class, a dtype
  std::string reason;  ///< a sentence without a full stop; `corrupt: ` begins that of damage
  dims shape{};        ///< empty where it has none
};

/// The attribute with the reason of an `unread_entry`.
inline constexpr std::string_view unread_member = "unread";

/// The `zarr.json` of such an entry. Its stored bytes, if there are any, are the objects `c/0`,
/// `c/1` and so on beneath it, for those who compare them.
json unread_document(const unread_entry& what);

/// Adds the attribute that tells the name in the file.
void tell_name(json& document, std::string_view name);

/// The JSON that an object is. Errors: `resource_limit` above `most` bytes; those of `parse_json`.
result<json> parse_object(const blob& from, std::uint64_t most);

/// What lies at a name of a hierarchy, if that is not a group.
struct hierarchy_place {
  std::string name;  ///< as it is shown
  std::size_t number = 0;
  bool is_lazy = false;
  bool is_renamed = false;
};

/// Nodes of a hierarchy that are made when they are asked for, by their numbers.
class lazy_nodes {
 public:
  lazy_nodes() = default;
  lazy_nodes(const lazy_nodes&) = delete;
  lazy_nodes& operator=(const lazy_nodes&) = delete;

  /// What the file calls it.
  virtual std::string original_name(std::size_t number) const = 0;
  /// The `zarr.json` of an array, without that name.
  virtual result<json> document(std::size_t number) const = 0;
  /// Its chunks along each axis.
  virtual result<dims> counts(std::size_t number) const = 0;
  /// A chunk by its key beneath the array; a null pointer for none.
  virtual result<std::unique_ptr<blob>> chunk(std::size_t number, std::string_view key,
                                              std::string called) const = 0;

  /// What lies at a key beneath a node, and what `list` of a store gives. What is not one array of
  /// Zarr v3, as these two take it, has its own.
  virtual result<std::unique_ptr<blob>> open(const hierarchy_place& at, std::string_view key,
                                             std::string called) const;
  virtual result<std::vector<list_entry>> list(std::size_t number, std::string_view prefix) const;
  /// Where that is, for messages; empty where the name of the file tells.
  virtual std::string describe(std::size_t, std::string_view) const { return {}; }

 protected:
  /// `stored`, which lies at `key` beneath a node, with the name in the file if it is a document
  /// that tells of the attributes. One of Zarr v2 may lack it. Errors: those of `parse_object`.
  result<std::unique_ptr<blob>> with_name(const hierarchy_place& at, std::string_view key,
                                          std::unique_ptr<blob> stored, std::uint64_t most) const;

  ~lazy_nodes() = default;
};

/// The index of a chunk with that key, among as many; nothing for another key.
std::optional<dims> chunk_index(std::string_view key, const dims& counts);

/// A text as an object.
std::unique_ptr<blob> text_blob(std::string_view text, std::string called);

/// What a file of another format holds, as a Zarr v3 hierarchy to read and list: the one place
/// where its documents are made. An array that is added with its metadata is one chunk, which is
/// opened when it is asked for; `lazy_nodes` have any number. Names that cannot be keys are told as
/// `shown_names` says, with the attribute `original_name`.
class virtual_hierarchy {
 public:
  /// Gives the chunk, as an object with that name in messages.
  using chunk_opener = std::function<result<std::unique_ptr<blob>>(std::string name)>;

  /// Whether what has that name in the file is taken; all is where nothing else was said. `add`
  /// passes over the rest.
  using name_filter = std::function<bool(std::string_view name)>;
  void take_only(name_filter wanted) { wanted_ = std::move(wanted); }

  /// Adds an array, whose chunk has its own shape; one without elements has no chunk.
  result<void> add(const std::string& name, const array_metadata& as, chunk_opener chunk);
  /// The same with a chunk that is in memory.
  result<void> add(const std::string& name, const array_metadata& as, std::vector<std::byte> chunk);
  /// Adds what cannot be read, with its stored bytes.
  result<void> add(const std::string& name, const unread_entry& what,
                   std::vector<chunk_opener> stored);

  /// Adds a node of `by`, which is that of all such nodes and outlives the calls of this.
  void add(std::string name, const lazy_nodes& by, std::size_t number);
  /// Adds a group in which nothing needs to lie. The name is a key.
  void add_group(std::string name) { groups_.push_back(std::move(name)); }

  /// Adds the groups, the root with attributes; call it once, after all arrays. `are_keys`: the
  /// names are as `shown_names` makes them. Errors: `resource_limit` where names make groups of
  /// which the names alone take more than 64 MiB.
  result<void> finish(const json& attributes, bool are_keys = false);

  using place = hierarchy_place;

  /// Once it is finished: all of them, sorted by name.
  const std::vector<place>& places() const noexcept { return places_; }
  /// The one at a key or above it, and the rest of the key; null for none.
  const place* find(std::string_view key, std::string_view& rest) const;
  /// A null pointer for no such key.
  result<std::unique_ptr<blob>> open(const store_key& key, std::string name) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const;
  std::string describe(const store_key& key, const std::string& file) const;

 private:
  /// The layers of a model have the same arrays, one after the other: those share their texts.
  using shared_text = std::shared_ptr<const std::vector<std::byte>>;

  struct made_document {
    array_metadata of;
    shared_text text;
  };

  struct array {
    shared_text document;
    std::size_t rank = 0;  ///< of the keys of its chunks
    std::vector<chunk_opener> chunks;

    dims counts() const;
    result<std::unique_ptr<blob>> open(std::string_view key, std::string called) const;
  };

  bool is_wanted(std::string_view name) const { return !wanted_ || wanted_(name); }
  bool is_group(std::string_view name) const;
  void add(const std::string& name, array made);
  result<void> show_names(bool are_keys);
  result<void> make_groups();

  name_filter wanted_;
  std::vector<made_document> recent_;  ///< of the arrays that were added last
  const lazy_nodes* lazy_ = nullptr;
  std::vector<place> places_;        ///< sorted at the end, and named as they are shown
  std::vector<array> arrays_;        ///< by the numbers of those that are not lazy
  std::vector<std::string> groups_;  ///< below the root; sorted at the end
  shared_text root_text_;            ///< null where the root is an array
  shared_text group_text_;
};

/// Errors: `corrupt` for a byte that is neither 0 nor 1, which no program may have for a bool.
result<void> check_bools(bytes_view elements);

/// The metadata of an array whose one chunk holds its elements as they are, row by row.
array_metadata raw_array(const tensor_spec& spec, endian order = native_endian);

/// That of an array of texts, and its chunk (the codec `vlen-utf8`: the number of texts, then the
/// size of each and itself). Errors: `resource_limit` above 4 GiB.
struct text_array {
  array_metadata metadata;
  std::vector<std::byte> chunk;
};
result<text_array> array_of_texts(const dims& shape, const std::vector<std::string_view>& texts);

/// A longer name of a leaf leaves no room for the key of a chunk beneath it.
inline constexpr std::size_t max_leaf_name = store_key::max_size - 64;

/// What the groups may take that names of leaves make: one of 960 bytes can make 480 of them, so
/// that a small file would fill the memory.
class group_budget {
 public:
  result<void> charge(std::string_view group) {
    constexpr std::uint64_t most = std::uint64_t{64} << 20;
    constexpr std::uint64_t each = 128;  // its document, and its place
    used_ += group.size() + each;
    if (used_ <= most) return {};
    return error{errc::resource_limit, "its names make groups that take more than 64 MiB"};
  }

 private:
  std::uint64_t used_ = 0;
};

/// The names under which entries of a file of another format are shown in a hierarchy, in the order
/// of `names`. A name that is a valid key, and lies beneath no other entry, is shown as it is. In
/// the others each byte that stands in the way is written as `%` and two hexadecimal digits, and
/// what is then still another's gets `~2`, `~3` and so on. All that are returned differ.
std::vector<std::string> shown_names(const std::vector<std::string>& names);

/// The attribute that tells the name in the file, where it is not the one that is shown.
inline constexpr std::string_view original_name_member = "original_name";

}}}  // namespace zarrpoint::v0::detail
