// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/device/encoding_source.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/memory/device/spare_objects.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

template <class Space>
result<std::unique_ptr<element_source>> source_on_device(const tensor_view<Space>& view,
                                                         const source_options& how) {
  using source = encoding_source<Space>;
  return source::template make<source>(view,
                                       ring_of(how.kept, view.space, how.resource, how.budget));
}

}}}  // namespace zarrpoint::v0::detail
