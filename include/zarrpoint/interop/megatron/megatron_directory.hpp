// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <memory>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace megatron {

namespace detail {

/// What all processes have in common, as the document that `torch::to_document` makes of
/// `common.pt`, whatever it holds and whichever backend wrote the tensors. Errors: `not_found`,
/// `unsupported` where `metadata.json` says that another backend than ("torch", 1) wrote it; those
/// of `torch::open` and `torch::to_document`.
result<json> read_common(const any_store& store, const context& how);

}  // namespace detail

/// The names of what a checkpoint holds, sorted.
struct contents {
  std::vector<std::string> tensors;
  std::vector<object_id> objects;
};

/// A checkpoint of Megatron-Core's zarr backend, read by one process alone: whatever number of them
/// wrote it, a tensor is a Zarr v2 array. A cheap handle that any number of threads may use.
class directory {
 public:
  /// Errors: `not_found` when the directory does not exist, or has no `metadata.json`;
  /// `unsupported` when other backends wrote it; `corrupt`; `io`.
  static result<directory> open(const location& where, const context& how = default_context());

  const backends& written_by() const noexcept { return backends_; }
  /// The store whose root is the directory.
  const any_store& store() const noexcept { return store_; }

  /// What is there. Nothing lists it, so all folders are visited: keys may have "/" in them. Lock
  /// files (`X.sync`) are passed over. Errors: `unsupported` for stores that cannot list; `io`;
  /// `resource_limit` for folders nested deeper than 64 levels.
  result<contents> list() const;

  /// The array of a tensor. Its own reads take a missing chunk for zeros: see `read`. Errors:
  /// `not_found`, naming the key; `corrupt`, `unsupported`, `io`.
  result<array> tensor(std::string_view key) const;

  /// Reads a part of a tensor. A chunk that is missing, where the array has no fill value, was
  /// lost: `not_found`. One of another size is `corrupt`. Errors: those of `tensor` and of
  /// `array::read`.
  result<void> read(std::string_view key, const selection& part, const mutable_host_view& into,
                    read_options options = {}) const;
  /// The whole of a tensor.
  result<zarrpoint::tensor> read(std::string_view key) const;

  /// The file of an object. Its root is the value; nothing of it is run. Errors: `not_found`,
  /// naming its key; those of `torch::open`.
  result<torch::file> object(const object_id& of) const;

  /// The file of the common state. Errors: `not_found`; `unsupported` when another backend than
  /// ("torch", 1) wrote it; those of `torch::open`.
  result<torch::file> common() const;
  /// The common state as the document that `torch::to_document` makes of it, whatever it holds:
  /// `state_from_json` takes it. Errors: those of `common` and of `torch::to_document`.
  result<json> common_json() const;

 private:
  directory(any_store store, backends wrote, context how)
      : store_(std::move(store)), backends_(std::move(wrote)), how_(std::move(how)) {}

  /// A file of a folder: it may say that the folder is a tensor, or be an object.
  result<void> note(const store_key& folder, const std::string& name, contents& out) const;

  /// The last extent of old names, which the names of the others of that key tell.
  static void complete_shapes(std::vector<object_id>& objects);

  any_store store_;
  backends backends_;
  context how_;
};

}}}  // namespace zarrpoint::v0::megatron

namespace zarrpoint { inline namespace v0 { namespace megatron { namespace detail {

// Objects in the layout torch_dist: files of torch.save, each of a list that holds the one object.
// Nothing of their pickles is run: the list is put around an object, and taken from it, by the
// opcodes that say so.

/// Whether bytes are a file of torch.save, and not another archive. Errors: those of `zip_store`
/// for what begins as an archive and is none.
result<bool> is_torch_file(bytes_view bytes);

/// The bytes of an object that is a `bytes` of Python, for which a save would pickle them again.
/// Nothing for any other, and where the bytes are themselves a file of torch.save: only in a file
/// of its own such an object stays what it is.
std::optional<message> bare_bytes(const torch::pickle_value& object);

/// The file of the list of an object, whose bytes are a file of torch.save, or else are pickled as
/// `bytes`. `name` is what messages call it. Errors: `corrupt` for a damaged file; those of
/// `torch::open`.
result<std::string> list_object(bytes_view object, std::string_view name);

/// The object of such a file: its `bare_bytes`, or else a file of it alone. Errors:
/// `corrupt` for anything but the list of one object; those of `torch::open`.
result<message> unlist_object(std::unique_ptr<blob> file);

}}}}  // namespace zarrpoint::v0::megatron::detail
