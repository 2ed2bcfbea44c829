// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/shard_geometry.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/read_shard.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// `"[2, 32]"` as Megatron-Core's messages have it: `"(2, 32)"`.
ZARRPOINT_INLINE std::string in_parentheses(const dims& shape) {
  std::string text = to_string(shape);
  text.front() = '(';
  text.back() = ')';
  return text;
}

ZARRPOINT_INLINE result<void> check_request(const stored_tensor& stored,
                                            const shard_metadata& wanted, bool cast) {
  if (stored.spec.type != wanted.type) {
    if (!cast)
      return error{errc::dtype_mismatch, "tensor \"" + wanted.key + "\": stored dtype is " +
                                             std::string(to_string(stored.spec.type)) +
                                             ", wanted " + std::string(to_string(wanted.type)) +
                                             "; load_options::cast converts"};
    ZARRPOINT_CHECK(check_cast(stored.spec.type, wanted.type));
  }
  const bool may_differ =
      wanted.allow_shape_mismatch && stored.spec.shape.rank() == wanted.global_shape.rank();
  if (stored.spec.shape != wanted.global_shape && !may_differ)
    return error{errc::shape_mismatch, "Global shape mismatch for loaded (" +
                                           in_parentheses(stored.spec.shape) + ") and expected (" +
                                           in_parentheses(wanted.global_shape) +
                                           ") tensor for key " + wanted.key};
  return {};
}

/// Elements of a view of rank 1, from `first` on, as a box of that shape in row-major order.
ZARRPOINT_INLINE mutable_host_view as_box(mutable_host_view flat, index_t first,
                                          const dims& shape) {
  const index_t step = flat.strides[0];
  flat.data += first * step;
  flat.shape = shape;
  flat.strides = dims(shape.rank(), 0);
  index_t stride = step;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    flat.strides[i] = stride;
    stride *= shape[i];
  }
  return flat;
}

/// Reads what of `part` the stored tensor has to the leading corner of `into`.
ZARRPOINT_INLINE result<void> read_common_part(const sharded_reader& reader,
                                               const stored_tensor& stored, box part,
                                               mutable_host_view into) {
  for (std::size_t i = 0; i < part.rank(); ++i)
    part.shape[i] = std::min(part.shape[i], stored.spec.shape[i] - part.offset[i]);
  if (part.empty()) return {};
  into.shape = part.shape;
  return reader.read(stored.key, part, into);
}

ZARRPOINT_INLINE result<void> read_shard(const sharded_reader& reader, const stored_tensor& stored,
                                         const shard_metadata& wanted,
                                         const mutable_host_view& into) {
  // Elements of a tensor of another shape may have no stored counterpart.
  if (stored.spec.shape != wanted.global_shape) {
    if (into.type.is_variable()) {
      const std::string empty;
      copy_elements(into, host_view{reinterpret_cast<const std::byte*>(&empty),
                                    into.type,
                                    into.shape,
                                    dims(into.rank(), 0),
                                    {},
                                    {}});
    } else {
      fill_with_zero(into);
    }
  }
  if (!wanted.range)
    return read_common_part(reader, stored, wanted.global_box(),
                            with_prepended(into, wanted.prepended_axes));
  index_t at = 0;
  for (const box& part : global_boxes(wanted)) {
    ZARRPOINT_CHECK(read_common_part(reader, stored, part, as_box(into, at, part.shape)));
    at += element_count(part.shape).value_or(0);
  }
  return {};
}

ZARRPOINT_INLINE result<void> read_part_of_shard(const sharded_reader& reader,
                                                 const stored_tensor& stored,
                                                 const shard_metadata& wanted, const box& part,
                                                 const mutable_host_view& into) {
  shard_metadata some = wanted;
  if (some.range) {
    some.range->start += part.offset[0];
    some.range->stop = some.range->start + part.shape[0];
  } else {
    some.local_shape = part.shape;
    for (std::size_t i = 0; i < part.rank(); ++i)
      some.global_offset[some.prepended_axes + i] += part.offset[i];
  }
  return read_shard(reader, stored, some, into);
}

ZARRPOINT_INLINE const dims& unit_of(const stored_tensor& stored) {
  return stored.read_unit.empty() ? stored.chunk_shape : stored.read_unit;
}

}}}  // namespace zarrpoint::v0::detail
