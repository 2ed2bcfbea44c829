// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/interop/safetensors/safetensors_header.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/format.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <memory>

namespace zarrpoint { inline namespace v0 {
struct save_report;
struct save_request;
}}  // namespace zarrpoint::v0

namespace zarrpoint { inline namespace v0 { namespace safetensors {

/// A safetensors file, or a model in several by their index, as a store to read and list in which
/// it is a Zarr hierarchy. Each tensor is an array at its name, dots as they are
/// (`model.layers.0.weight`), of one chunk that lies in the file and is viewed there where the
/// store can map. Elements of fewer than eight bits, which the file packs, have a byte each.
///
/// `__metadata__` are the attributes of the root, of a model those of all its files. An index
/// decides which tensors there are, and from which file each is read. What it leaves out is told by
/// the attribute `weight_map` of the root, and whether its `total_size` is another. Names that
/// cannot be keys are shown in another way, with the attribute `original_name`; a tensor of an
/// unknown dtype is listed and not read.
class tensor_store : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// The file at `at`, or the model whose index that is: a file whose name ends in `.json`. `most`:
  /// bytes that headers may have. Errors: `not_found`, for a file of a model by its name;
  /// `unsupported` where files have parts of tensors (`DCP_SHARDING_INFO`), which a
  /// `dcp::state_store` joins; `corrupt`; `resource_limit`.
  static result<tensor_store> open(any_store base, store_key at, std::uint64_t most = UINT64_MAX);
  static result<tensor_store> open(std::unique_ptr<blob> file, std::uint64_t most = UINT64_MAX);
  /// The model whose index lies at `at`, whatever that is called.
  static result<tensor_store> open_model(const any_store& base, const store_key& at,
                                         std::uint64_t most = UINT64_MAX);

 private:
  using virtual_store::virtual_store;
};

/// safetensors as a format of `formats<...>`. It is a file by how it begins or its name ends, a
/// directory with `model.safetensors.index.json`, or that index itself, under any name that ends in
/// `.safetensors.index.json`. Files with parts of tensors are those of `dcp::format`.
///
/// As `save_options::format`: a path that ends in `.safetensors` is one file, any other a model in
/// several. Each leaf is a tensor; texts and JSON are `unsupported`.
struct format {
  static constexpr std::string_view name = "safetensors";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use);

  /// The bytes of tensors in a file of a model in several. A larger tensor has one of its own.
  std::uint64_t max_file_bytes = 5'000'000'000;
  metadata_map metadata{};  ///< of each file, as `{{"format", "pt"}}`
};

/// What `zarrpoint::save` does with `{.format = format{}}`.
result<save_report> save_as(const format& as, const save_request& what);

namespace detail {

/// Whether a safetensors file in a directory tells of parts of tensors, by `sharding_member`.
result<bool> has_parts(const any_store& store, const store_key& at);

}  // namespace detail

}}}  // namespace zarrpoint::v0::safetensors
