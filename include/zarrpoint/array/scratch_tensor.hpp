// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/workspace.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/tensor_spec.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace zarrpoint::inline v0::detail {

/// `fill_elements`, with the text that strings get counted: one long fill value may be that of very
/// many elements. Errors: `resource_limit`.
inline result<void> fill_within_budget(const mutable_host_view& to, bytes_view element,
                                       codec_workspace& scratch) {
  if (to.type.is_variable()) {
    ZARRPOINT_TRY(count, element_count(to.shape));
    ZARRPOINT_TRY(text, checked_mul(element.size(), static_cast<std::size_t>(count)));
    ZARRPOINT_CHECK(scratch.charge_text(text));
  }
  fill_elements(to, element);
  return {};
}

/// A dense tensor in the scratch memory of a workspace. Its strings, where it has strings, end with
/// it; of other types nothing is initialised.
class scratch_tensor {
 public:
  /// Errors: `out_of_range`, `resource_limit`.
  static result<scratch_tensor> make(const tensor_spec& spec, codec_workspace& scratch,
                                     std::size_t slot) {
    ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
    ZARRPOINT_TRY(memory, scratch.scratch(slot, bytes));
    scratch_tensor out;
    out.view_ = dense_view(memory.data(), spec);
    if (spec.type.is_variable()) {
      out.strings_ = bytes / sizeof(std::string);
      std::uninitialized_value_construct_n(out.first(), out.strings_);
    }
    return out;
  }

  scratch_tensor(scratch_tensor&& other) noexcept
      : view_(std::move(other.view_)), strings_(std::exchange(other.strings_, 0)) {}
  scratch_tensor& operator=(scratch_tensor&&) = delete;
  ~scratch_tensor() { std::destroy_n(first(), strings_); }

  const mutable_host_view& view() const noexcept { return view_; }

 private:
  scratch_tensor() = default;
  std::string* first() const noexcept { return reinterpret_cast<std::string*>(view_.data); }

  mutable_host_view view_;
  std::size_t strings_ = 0;
};

}  // namespace zarrpoint::inline v0::detail
