// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Parts of an array to a tensor on a device, and from one.

#include <zarrpoint/array/device/device_leaf.hpp>
#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/array/value_transfer.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

template <class Space>
result<void> read_part_to_device(const array& from, const selection& part,
                                 const mutable_tensor_view<Space>& into,
                                 const read_options& options) {
  return read_to_device(from, part, into, options);
}

template <class Space>
result<void> write_part_from_device(const array& to, const selection& part,
                                    const tensor_view<Space>& from, const write_options& options) {
  const context how = with_scratch(options.how != nullptr ? *options.how : to.default_context());
  write_options with_how = options;
  with_how.how = &how;
  ZARRPOINT_TRY(source,
                source_on_device(from, source_options{how.scratch->kept(), how.scratch->resource(),
                                                      how.limit.memory}));
  return to.write(part, *source, with_how);
}

}}}  // namespace zarrpoint::v0::detail
