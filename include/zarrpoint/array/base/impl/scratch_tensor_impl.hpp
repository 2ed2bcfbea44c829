// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_tensor.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<tensor> make_tensor(const tensor_spec& spec, const context& how) {
  ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
  if (bytes > how.limit.memory)
    return error{errc::resource_limit, to_string(spec) + " takes " + std::to_string(bytes) +
                                           " bytes, the limit is " +
                                           std::to_string(how.limit.memory)};
  return tensor::make(spec, resource_of(how));
}

ZARRPOINT_INLINE result<void> fill_within_budget(const mutable_host_view& to, bytes_view element,
                                                 codec_workspace& scratch) {
  if (to.type.is_variable()) {
    ZARRPOINT_TRY(count, element_count(to.shape));
    ZARRPOINT_TRY(text, checked_mul(element.size(), static_cast<std::size_t>(count)));
    ZARRPOINT_CHECK(scratch.charge_text(text));
  }
  fill_elements(to, element);
  return {};
}

}}}  // namespace zarrpoint::v0::detail
