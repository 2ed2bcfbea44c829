// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstdint>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// What PyTorch still has to do to the elements of a lazy view: of `x.conj()` and `_neg_view(x)`.
struct element_signs {
  bool conjugate = false;
  bool negative = false;

  bool any() const noexcept { return conjugate || negative; }
};

/// Does it to elements in memory, whose type must be one that `describe_tensor` gives with them.
void apply_signs(const element_signs& signs, const mutable_host_view& to);

/// Where a tensor of a torch.save file lies: a strided view of a storage.
struct tensor_info {
  tensor_spec spec;
  dims strides;                     ///< in bytes
  std::string storage;              ///< its name in the file
  std::uint64_t offset = 0;         ///< of the first element in the storage, in bytes
  std::uint64_t storage_bytes = 0;  ///< what the pickle says; the file checks it
  bool requires_grad = false;
  element_signs signs{};  ///< still to be applied to the elements that lie there

  /// Where the last element ends in the storage, in bytes.
  std::uint64_t end = 0;
};

/// Whether a value is a tensor as torch.save writes it.
bool is_tensor(const pickle_value& value);

/// The tensor that a call of `torch._utils._rebuild_tensor_v2`, or of its like, describes. Errors:
/// `invalid_argument` when it is none; `corrupt` when its elements lie outside the storage that it
/// names; `unsupported` for types without a dtype, ranks above 32, and metadata other than the two
/// of `element_signs`.
result<tensor_info> describe_tensor(const pickle_value& value, bool is_parameter = false);

}}}  // namespace zarrpoint::v0::torch

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/torch/impl/torch_tensor_impl.hpp>
#endif
