// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/format.hpp>

#include <memory>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// A file of torch.save (`pytorch_model.bin`, `model.pt`), as a store to read and list in which it
/// is a Zarr hierarchy: each tensor is an array at the keys and places that lead to it, as
/// `state/0/exp_avg` or `layer.weight`, of one chunk. Its elements are viewed in the file where the
/// store can map and they lie row by row; others are put together when they are asked for. A tensor
/// that is the whole of the file is at `value`.
///
/// Arrays of numpy and storages are arrays as well. A tensor that this library has no elements for
/// (quantised, sparse, nested, of a class that keeps them in a way of its own) is listed and not
/// read, as `unread_entry` says. Of an object, such as a module, the tensors are arrays at the
/// names of its attributes, those of a `torch.nn.Module` as in its `state_dict`; the rest is the
/// document
/// `@object` beside them, in which `{"__array__": name}` stands for each.
///
/// What holds no tensor is an array of rank 0: numbers and bools of that type, texts of the data
/// type `string`, and anything else as the text of the document that `to_document` makes of it (its
/// attribute `content_type` is `application/json`), which is made when it is read.
class archive_store : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// The file at `at`, or the model in several files whose index that is: a file whose name ends in
  /// `.json`. The index decides which arrays there are; what it leaves out is told by the attribute
  /// `weight_map` of the root. Errors: those of `torch::open`; `resource_limit` for what is nested
  /// deeper than 48 levels, or more than two million values or half of those that `limits` allows,
  /// or names that take more than half of its bytes.
  static result<archive_store> open(any_store base, store_key at, const pickle_limits& limits = {});
  static result<archive_store> open(std::unique_ptr<blob> from, const pickle_limits& limits = {});

 private:
  static result<archive_store> open_model(const any_store& base, const store_key& at,
                                          const pickle_limits& limits);
  using virtual_store::virtual_store;
};

/// Files of torch.save, as a format of `formats<...>`: zip archives with `data.pkl` in their one
/// folder, and what PyTorch wrote before 1.6. `torch://m.pt/w` is `w` of `m.pt`.
struct format {
  static constexpr std::string_view name = "torch";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use);
};

}}}  // namespace zarrpoint::v0::torch

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/impl/torch_store_impl.hpp>
#endif
