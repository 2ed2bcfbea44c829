// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/mapped_tensor.hpp>
#include <zarrpoint/core/make_owner.hpp>

#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE kept_elements::kept_elements(mapped_view mapped)
    : shape(mapped.elements.shape),
      owner(detail::make_counted<const mapping>(std::move(mapped.memory))),
      data(mapped.elements.data) {}

ZARRPOINT_INLINE kept_elements::kept_elements(tensor owned) : shape(owned.shape()) {
  auto kept = detail::make_counted<const tensor>(std::move(owned));
  data = kept->view().data;
  owner = std::move(kept);
}

}}}  // namespace zarrpoint::v0::detail
