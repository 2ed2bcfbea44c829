// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_tensor.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include <cstddef>
#include <memory>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// A tensor where it lies in its file, without a copy.
struct tensor_in_file {
  host_view elements;
  mapping memory;  ///< keeps the elements alive
};

namespace detail {

/// The storages of the tensors of a file, by their names.
class storage_files {
 public:
  virtual ~storage_files() = default;
  /// A null pointer where there is none of that name.
  virtual result<std::unique_ptr<blob>> open(const std::string& name) const = 0;
  /// The file, or a storage in it, for messages.
  virtual std::string describe(const std::string& name) const = 0;
};

}  // namespace detail

/// A file of torch.save: a zip archive of a pickle and the storages of its tensors, or one of
/// before PyTorch 1.6, in which these follow each other. Nothing of the pickle is run. It may be
/// used from several threads at once.
class file {
 public:
  /// What was saved.
  const pickle_value& root() const noexcept { return root_; }

  /// Where a tensor of the pickle lies. Errors: those of `describe_tensor`; `corrupt` when the
  /// archive has no such storage, or one of another size.
  result<tensor_info> tensor(const pickle_value& value) const;

  /// The elements without a copy; valid while the mapping lives. Errors: `unsupported` when the
  /// store cannot map, or the elements are not aligned, of another byte order, or have `signs`;
  /// `corrupt` for a bool that is none.
  result<tensor_in_file> view(const tensor_info& of) const;

  /// The storage of a tensor as an object, for callers that read ranges of it and
  /// apply its `signs`. Errors: `corrupt` when there is none, or one of another size; `unsupported`
  /// for another byte order.
  result<std::unique_ptr<blob>> storage(const tensor_info& of) const;

  /// The storage of that name, whatever lies in it. Errors: `corrupt` when there is none; `io`.
  result<std::unique_ptr<blob>> storage(const std::string& name) const;
  /// The byte order in which the elements lie there.
  endian order() const noexcept { return order_; }

  /// Of TorchScript, the constants of its code: tensors, which lie beside those of the root.
  std::shared_ptr<const file> constants() const noexcept { return constants_; }

  /// Copies the elements to memory of their dtype and shape, any strides. Errors: `dtype_mismatch`,
  /// `shape_mismatch`, `corrupt`, `unsupported` for another byte order, `resource_limit`, `io`.
  result<void> read(const tensor_info& of, const mutable_host_view& into) const;

  static result<file> open(std::unique_ptr<blob> from, const pickle_limits& limits);

  /// The directory of an archive that torch.save wrote, whatever its name: it has a `data.pkl`.
  /// Nothing for other archives.
  static result<std::optional<store_key>> find_prefix(const zip_store& archive);

 private:
  struct content {
    pickle_value root;
    endian order;
  };
  struct record {
    const char* name;
    std::uint64_t max_bytes;
  };

  file(std::shared_ptr<const detail::storage_files> storages, content read);

  static result<file> open_archive(const zip_store& archive, const pickle_limits& limits);
  static result<file> open_legacy(std::unique_ptr<blob> from, const pickle_limits& limits);

  static result<std::optional<std::vector<std::byte>>> read_record(const zip_store& archive,
                                                                   const store_key& prefix,
                                                                   const record& which);

  result<std::unique_ptr<blob>> open_storage(const tensor_info& of) const;

  result<void> check_order(const tensor_info& of) const;

  /// The strided view of a storage.
  result<host_view> elements_of(bytes_view storage, const tensor_info& of) const;

  std::shared_ptr<const detail::storage_files> storages_;
  pickle_value root_;
  endian order_;
  std::shared_ptr<const file> constants_;
};

/// Opens a file that torch.save wrote: reads its directory and its pickle. Errors: `not_found`;
/// `unsupported` for the tar archives of before PyTorch 0.2 and for compressed members; `corrupt`;
/// `resource_limit`; `io`; those of `read_pickle`.
result<file> open(std::unique_ptr<blob> from, const pickle_limits& limits = {});
result<file> open(const any_store& store, const store_key& key, const pickle_limits& limits = {});

}}}  // namespace zarrpoint::v0::torch

// What a file of torch.save holds, as arrays of a hierarchy.

namespace zarrpoint { inline namespace v0 { namespace torch { namespace detail {

/// Of each value of a pickle, by its number, whether there is a storage or an array of numpy within
/// it. That is what must become an array, and would make the text of a document large.
std::vector<bool> find_elements(const pickle_value& root);

/// Puts what a file holds into a hierarchy: a document is made when it is read, and takes at most
/// what `limits` allows a pickle.
result<void> add_archive(const std::shared_ptr<const file>& from, const pickle_limits& limits,
                         v0::detail::virtual_hierarchy& to);

}}}}  // namespace zarrpoint::v0::torch::detail
