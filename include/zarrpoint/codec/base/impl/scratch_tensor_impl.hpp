// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/scratch_tensor.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE scratch_tensor::scratch_tensor(scratch_tensor&& other) noexcept
    : view_(std::move(other.view_)), strings_(std::exchange(other.strings_, 0)) {}

ZARRPOINT_INLINE result<scratch_tensor> scratch_tensor::make(const tensor_spec& spec,
                                                             codec_workspace& scratch,
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

}}}  // namespace zarrpoint::v0::detail
