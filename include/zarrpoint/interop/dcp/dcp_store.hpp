// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <memory>

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// A checkpoint of torch.distributed.checkpoint, as a store to read and list in which it is a Zarr
/// hierarchy. Each tensor is an array at its fully qualified name, dots as they are
/// (`model.layers.0.weight`), no matter which processes saved it. A slash in a name makes a group.
/// Its chunks are the boxes that the processes saved, read by ranges from where they lie.
///
/// What is not a tensor is an array of rank 0. Numbers and bools have that type, texts the data
/// type `string`. Anything else is the text of the document that `torch::to_document` makes of it,
/// and its attribute `content_type` is `application/json`. But an object with tensors in it, such
/// as a module, is a group of them as a `torch::archive_store` has them. `common.pt` of
/// Megatron-Core is such a text, by the name `common`. What is of no known class or dtype is
/// listed, and not read. Names that cannot be keys are shown in another way, with the attribute
/// `original_name`. Of Megatron-Core's objects (`key/shard_0_1`) it is the one object that their
/// list holds.
class state_store : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// The checkpoint in the directory `at` of `base`. That holds `.metadata`, or the `__0.metadata`,
  /// `__1.metadata` and on of processes that saved each for itself. Or it holds the safetensors
  /// files of one model, by their index or as torch's writer for them names them. Errors:
  /// `not_found` for none; `corrupt` for boxes of a tensor that overlap or leave holes, naming it;
  /// those of `read_metadata`.
  static result<state_store> open(any_store base, store_key at,
                                  const torch::pickle_limits& limits = metadata_limits);

  const dcp::metadata& metadata() const noexcept;

  /// All values that are not tensors as one document, in the form of the state dict. Each is at its
  /// path, where the saver told it, else by its name; `null` in a list where a tensor is. Errors:
  /// `resource_limit`; those of `torch::open` and `torch::to_document`.
  result<json> values() const;

  /// The file of a value that is not a tensor: its root is what was saved, and nothing of it is
  /// run. Errors: `not_found`; those of `torch::open`.
  result<torch::file> value(std::string_view name) const;

 private:
  struct state;
  explicit state_store(std::shared_ptr<const state> opened);

  static result<state_store> read(any_store base, store_key at, const torch::pickle_limits& limits);

  std::shared_ptr<const state> state_;
};

}}}  // namespace zarrpoint::v0::dcp

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// The safetensors files in a directory that together are one checkpoint: those that
/// `model.safetensors.index.json` names, or `shard-00001-model-00001-of-00004.safetensors` and its
/// like, which torch.distributed.checkpoint wrote. Empty where there are none. Errors: `corrupt`.
result<std::vector<std::string>> safetensors_files(const any_store& store, const store_key& at);

/// What is in them. An index decides which tensors there are, and in which file each lies. A tensor
/// that the `DCP_SHARDING_INFO` of files names has a box in each of them, which begins where that
/// says; the shape is what all of them reach. Errors: `not_found` for a file that is gone;
/// `corrupt` for two dtypes or ranks of one tensor, for an offset that does not fit; `corrupt` for
/// a tensor in two files where neither settles it, and for one that the file of the index does not
/// have; those of `safetensors::open`.
result<metadata> read_safetensors(const any_store& store, const store_key& at,
                                  const std::vector<std::string>& files);

}}}}  // namespace zarrpoint::v0::dcp::detail
