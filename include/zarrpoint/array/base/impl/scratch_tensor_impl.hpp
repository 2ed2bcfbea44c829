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
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> charge_tensor(const tensor_spec& spec, scratch_account& to) {
  ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
  if (to.charge(bytes)) return {};
  const limited_resource& budget = to.pool().budget();
  std::string text = to_string(spec) + " has " + std::to_string(bytes) + " bytes, more than ";
  if (const std::size_t used = budget.in_use(); used != 0)
    text += "is left beside the " + std::to_string(used) + " bytes in use of ";
  return error{errc::resource_limit,
               std::move(text) + "limits::memory of " + std::to_string(budget.limit())};
}

ZARRPOINT_INLINE result<tensor> make_tensor(const tensor_spec& spec, const context& how,
                                            scratch_account& to) {
  ZARRPOINT_CHECK(charge_tensor(spec, to));
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
