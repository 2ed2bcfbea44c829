// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/gguf/gguf_header.hpp>
#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/format.hpp>

#include <functional>
#include <memory>

namespace zarrpoint { inline namespace v0 { namespace gguf {

/// GGUF files, as a format of `formats<...>`: `gguf://m.gguf/output.weight` is `output.weight` of
/// `m.gguf`.
struct format {
  static constexpr std::string_view name = "gguf";
  static result<claim> sniff(const place_look& at) {
    return at.head().starts_with("GGUF") ? claim::sure : claim::none;
  }
  static result<stored_place> open(const place_look& at, const place_use& use);
};

/// A GGUF file, as a store to read and list in which it is a Zarr hierarchy. Each tensor is an
/// array at its name, dots as they are (`blk.0.attn_q.weight`), of one chunk that lies in the file
/// and is viewed there where the store can map. A tensor that is quantised is one of bytes: the
/// blocks along its last axis, and as one axis more the bytes of a block. Its attribute `gguf` has
/// ggml's name of the type, the shape in elements and the elements of a block.
///
/// The metadata are attributes of the root: `gguf` has `version`, `alignment` and `metadata`. An
/// array of more than 64 numbers or texts, as vocabularies are, is an array of its own at
/// `metadata/<key>`. Names that cannot be keys are shown in another way, with the attribute
/// `original_name`; a tensor of an unknown type is listed and not read.
///
/// A model that was split into `m-00001-of-00003.gguf` and on is one hierarchy, whichever of them
/// is opened, with the metadata of the first.
class tensor_store : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// The file at `at`, with the other parts of its model. Errors: `not_found`, for a part by its
  /// name; `unsupported` for a part whose own name does not tell those of others; `corrupt` for
  /// parts that do not belong together; those of `read_header`.
  static result<tensor_store> open(any_store base, store_key at, const header_limits& limits = {});
  /// A file by itself, also where it is a part.
  static result<tensor_store> open(std::unique_ptr<blob> file, const header_limits& limits = {});

  /// Of a model in several files it has the metadata of the first and the tensors of all.
  const gguf::header& header() const noexcept { return *header_; }

 private:
  friend struct format;
  /// Gives another part by the name of its file.
  using part_opener = std::function<result<std::unique_ptr<blob>>(const std::string& name)>;

  /// `name`: that of the file, without its directory.
  static result<tensor_store> open(std::unique_ptr<blob> file, std::string_view name,
                                   const part_opener& others, const header_limits& limits);
  tensor_store(v0::detail::virtual_hierarchy tree, std::string called, gguf::header of);

  std::shared_ptr<const gguf::header> header_;
};

}}}  // namespace zarrpoint::v0::gguf
