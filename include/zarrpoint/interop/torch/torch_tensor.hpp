// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::uint64_t part_begin = 0;     ///< where in it the elements may lie, in bytes
  std::uint64_t part_end = 0;
  bool requires_grad = false;
  element_signs signs{};  ///< still to be applied to the elements that lie there

  /// Where the last element ends in the storage, in bytes.
  std::uint64_t end = 0;
};

namespace detail {

/// The call that makes a tensor, beneath those that make it a parameter, or one of a subclass.
struct tensor_call {
  pickle_value function;
  pickle_value arguments;
  std::optional<pickle_value> subclass{};  ///< a class other than `Tensor` and `Parameter`
  std::vector<pickle_value> states{};      ///< Python attributes that the tensor was given
  std::optional<pickle_value> dtype{};     ///< that the tensor is converted to
  bool requires_grad = false;

  bool is_of(std::string_view name) const noexcept {
    return function.is_global("torch._utils", name);
  }
  /// Whether the elements are those of a storage as they lie there.
  bool is_plain() const noexcept {
    return is_of("_rebuild_tensor_v2") || is_of("_rebuild_tensor_v3") || is_of("_rebuild_tensor");
  }
};

/// What a call of `torch._utils._rebuild_...` or `torch._tensor._rebuild_...` makes; nothing for
/// other values.
std::optional<tensor_call> tensor_call_of(const pickle_value& value);

/// A name like `torch.qint8` or `__main__.MyTensor`.
std::string global_name(const pickle_value& global);

/// `("storage", class, name, location, count)`. In old files a part of it may follow.
struct storage_id {
  std::string name;
  pickle_value type;
  std::uint64_t count = 0;  ///< of elements
  std::uint64_t first = 0;  ///< of the part, in elements
  std::uint64_t part = 0;   ///< elements of the part
};

/// Nothing for a value that names no storage.
std::optional<storage_id> storage_id_of(const pickle_value& value);

/// Bytes of an element of a storage class of module `torch`, also where its dtype is none of ours.
std::optional<std::uint64_t> storage_element_size(const pickle_value& type);

}  // namespace detail

/// Whether a value is a tensor as torch.save writes it, also one of a subclass that keeps its
/// elements as a tensor does.
bool is_tensor(const pickle_value& value);

/// The tensor that a call of `torch._utils._rebuild_tensor_v2`, or of its like, describes. Errors:
/// `invalid_argument` when it is none; `corrupt` when its elements lie outside the storage that it
/// names; `unsupported` for types without a dtype, ranks above 32, and metadata other than the two
/// of `element_signs`.
result<tensor_info> describe_tensor(const pickle_value& value);

}}}  // namespace zarrpoint::v0::torch
