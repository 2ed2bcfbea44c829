// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a GGUF file says before its tensors (ggml, docs/gguf.md; versions 2 and 3).

namespace zarrpoint { inline namespace v0 { namespace gguf {

/// The type of a metadata value, by its number in the file.
enum class value_type : std::uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  bool_ = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

/// One metadata value: text that is not UTF-8 is `{"base64": "..."}`.
struct metadata_entry {
  std::string key;
  value_type type{};
  value_type element_type{};  ///< of an array
  json value;                 ///< an array of nodes for an array
};

/// How elements are stored: one by one, or in blocks that quantise many along the last axis.
struct element_type {
  std::string_view name;                ///< ggml's: "F16", "Q4_K"
  std::size_t block_elements = 1;       ///< 1: not quantised
  std::size_t block_bytes = 0;          ///< of a block
  dtype_kind kind = dtype_kind::uint8;  ///< of an element, or of the bytes of a block
};

/// The type by its number in the file. Nothing for those that are not known, and for Q8_1 (9), of
/// which ggml's block and that of its Python package have two sizes.
std::optional<element_type> find_element_type(std::uint32_t number);

/// A tensor: where it lies, and what it is.
struct tensor_info {
  std::string name;
  std::uint32_t type_number = 0;  ///< in the file
  element_type type;              ///< without a name where the number is not known
  dims shape;                     ///< of elements, row by row: the reverse of the file's
  tensor_spec spec;               ///< as stored: of blocks, the bytes as one axis more
  std::uint64_t offset = 0;       ///< of its first byte in the file
  std::uint64_t bytes = 0;        ///< where the type is not known, up to the next tensor
};

/// What a file may ask for before it is refused.
struct header_limits {
  std::uint64_t max_bytes = std::uint64_t{256} << 20;  ///< all that lies before the tensors
  std::size_t max_values = std::size_t{1} << 23;  ///< metadata values, elements of arrays included
  std::size_t max_tensors = std::size_t{1} << 20;
  std::size_t max_depth = 8;  ///< of arrays within arrays

  /// The same within a budget such as `limits::memory`: a value takes some 64 bytes, a tensor some
  /// 512 with its document.
  header_limits within(std::uint64_t memory) const noexcept;
};

/// All that a file says before its tensors.
struct header {
  std::uint32_t version = 0;
  std::uint32_t alignment = 32;  ///< of the tensors in the file
  std::vector<metadata_entry> metadata;
  std::vector<tensor_info> tensors;  ///< in the order of the file

  /// The value of a key, or null.
  const json* find(std::string_view key) const;
};

/// Reads the header. Errors: `corrupt`, naming the key or the tensor, also for tensors that overlap
/// or run past the end; `unsupported` for other versions and big-endian files; `resource_limit`;
/// `io`.
result<header> read_header(const blob& from, const header_limits& limits = {});

}}}  // namespace zarrpoint::v0::gguf
