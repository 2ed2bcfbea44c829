// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// The msgpack file `checkpoint` that Orbax wrote until 0.5, and Flax before it: a tree of maps
// whose leaves are values, or say that an array lies beside the file.

/// What a leaf of such a file is.
enum class aggregate_kind : std::uint8_t {
  array,        ///< elements, in the file or in `text`
  text,         ///< UTF-8, in `text`
  placeholder,  ///< an array that Orbax keeps under the name in `text`
  empty,        ///< `None`, or an empty dict, list or tuple
};

/// Bytes of the file.
struct aggregate_piece {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// An array in such a file.
struct aggregate_array {
  std::string type;  ///< of the elements, as Zarr v3 names it
  std::vector<index_t> shape;
  std::vector<aggregate_piece> pieces;  ///< the elements one after another, little-endian
};

/// One leaf of such a file.
struct aggregate_leaf {
  tree_leaf leaf;  ///< its name is its `path_text`
  aggregate_kind kind = aggregate_kind::empty;
  std::string text;
  std::unique_ptr<aggregate_array> array;  ///< where `kind` says so
};

using aggregate_leaves = std::vector<aggregate_leaf>;

/// The leaves of such a file, by their paths; elements stay where they are. Errors: `corrupt`;
/// `unsupported` for what neither Orbax nor Flax writes, and for types that Zarr has not;
/// `resource_limit`; those of the file.
result<aggregate_leaves> read_aggregate(const blob& file);

/// Whether a file begins as one that holds a map: TensorFlow's `checkpoint` is a text.
result<bool> is_aggregate(const blob& file);

/// The elements of a leaf as an object.
std::unique_ptr<blob> aggregate_elements(std::shared_ptr<const blob> file,
                                         std::vector<aggregate_piece> pieces);

// The documents of Zarr for what Orbax keeps otherwise.

std::string group_document(const node& attributes);

/// An array of rank 0 that holds one text, by the codec `vlen-utf8`.
inline constexpr std::string_view text_document =
    R"({"zarr_format":3,"node_type":"array","shape":[],"data_type":"string",)"
    R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},)"
    R"("chunk_key_encoding":{"name":"default"},"fill_value":"","codecs":[{"name":"vlen-utf8"}]})";

/// Its chunk.
std::vector<std::byte> text_chunk(std::string_view text);

/// An array of one chunk.
std::string array_document(const aggregate_array& array);

/// The text of a leaf: its storage name is a JSON pointer without its escapes.
const std::string* text_of(const node& texts, std::string_view storage);

/// The texts and arrays that the file `checkpoint` holds itself, as objects of Zarr. They are made
/// when they are asked for: one byte of the file may be an array.
class inline_leaves {
 public:
  inline_leaves() = default;
  explicit inline_leaves(std::shared_ptr<const blob> file) : file_(std::move(file)) {}

  /// Adds a text or an array, whose name lies beneath no other's. Errors: `invalid_argument` for a
  /// name that leaves no room for the keys beneath it.
  result<void> add(std::string_view name, aggregate_leaf&& leaf);
  /// Call it once, after all.
  void finish();

  /// The object `key`, which messages call `called`, or as the file where it is a part of that;
  /// null for a key that is none of theirs.
  result<std::unique_ptr<blob>> open(std::string_view key, const std::string& called) const;
  std::vector<list_entry> list(const store_key& prefix) const;

 private:
  struct held {
    std::string prefix;                      ///< of its keys
    std::string text;                        ///< of a text; the elements of a scalar
    std::unique_ptr<aggregate_array> array;  ///< null for a text
  };

  static std::string chunk_of(const held& leaf);
  /// The first whose keys are all greater.
  std::vector<held>::const_iterator behind(std::string_view key) const;

  std::shared_ptr<const blob> file_;
  std::vector<held> leaves_;  ///< by their prefixes
};

}}}}  // namespace zarrpoint::v0::orbax::detail
