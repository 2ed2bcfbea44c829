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
                                             "; set load_options::cast to convert it"};
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

/// Where the leading corner of `into`, of shape `filled`, has its elements: those of its last
/// places go to all places behind them, along one axis after another.
ZARRPOINT_INLINE void replicate_edges(const mutable_host_view& into, const dims& filled) {
  box done = box::whole(filled);
  for (std::size_t axis = 0; axis < into.rank(); ++axis) {
    const index_t missing = into.shape[axis] - filled[axis];
    if (missing <= 0) continue;
    box last = done;
    last.offset[axis] = filled[axis] - 1;
    last.shape[axis] = 1;
    box behind = done;
    behind.offset[axis] = filled[axis];
    behind.shape[axis] = missing;
    host_view from = subview(host_view(into), selection(last));
    from.shape[axis] = missing;
    from.strides[axis] = 0;
    copy_elements(subview(into, selection(behind)), from);
    done.shape[axis] = into.shape[axis];
  }
}

/// Reads what of `part` the stored tensor has to the leading corner of `into`; with `replicate` its
/// edge, to all of it.
ZARRPOINT_INLINE result<void> read_common_part(const shard_reading& from, box part,
                                               mutable_host_view into) {
  const bool replicate = from.padding == shard_padding::replicate;
  const dims& stored = from.stored.spec.shape;
  if (part.empty()) return {};
  for (std::size_t i = 0; i < part.rank(); ++i) {
    const index_t left = stored[i] - part.offset[i];
    if (left < 1 && replicate) part.offset[i] = stored[i] - 1;
    part.shape[i] = std::min(part.shape[i], replicate ? std::max<index_t>(left, 1) : left);
  }
  if (part.empty()) return {};
  ZARRPOINT_CHECK(
      from.reader.read(from.stored.key, part, subview(into, selection(box::whole(part.shape)))));
  if (replicate) replicate_edges(into, part.shape);
  return {};
}

ZARRPOINT_INLINE void fill_with_nothing(const mutable_host_view& into) {
  if (!into.type.is_variable()) return fill_with_zero(into);
  const std::string empty;
  copy_elements(into, host_view{reinterpret_cast<const std::byte*>(&empty),
                                into.type,
                                into.shape,
                                dims(into.rank(), 0),
                                {},
                                {}});
}

ZARRPOINT_INLINE result<void> read_shard(const shard_reading& from, const shard_metadata& wanted,
                                         const mutable_host_view& into) {
  // Elements of a tensor of another shape may have no stored counterpart.
  const dims& stored = from.stored.spec.shape;
  const bool has_none = box::whole(stored).empty();
  if (stored != wanted.global_shape && (has_none || from.padding == shard_padding::zeros))
    fill_with_nothing(into);
  if (has_none) return {};
  if (!wanted.range)
    return read_common_part(from, wanted.global_box(), with_prepended(into, wanted.prepended_axes));
  index_t at = 0;
  for (const box& part : global_boxes(wanted)) {
    ZARRPOINT_CHECK(read_common_part(from, part, as_box(into, at, part.shape)));
    at += element_count(part.shape).value_or(0);
  }
  return {};
}

ZARRPOINT_INLINE result<void> read_part_of_shard(const shard_reading& from,
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
  return read_shard(from, some, into);
}

ZARRPOINT_INLINE const dims& unit_of(const stored_tensor& stored) {
  return stored.read_unit.empty() ? stored.chunk_shape : stored.read_unit;
}

}}}  // namespace zarrpoint::v0::detail
