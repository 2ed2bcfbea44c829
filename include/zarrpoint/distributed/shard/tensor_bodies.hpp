// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/shard/device_shards.hpp>
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/shard_value.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>

#include <cstring>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ---------------------------------------------------------------------------------- local_only.hpp

ZARRPOINT_INLINE bool same_bits(const host_view& a, const host_view& b) {
  if (a.spec() != b.spec()) return false;
  const detail::loop_nest nest(a.shape, a.strides, b.strides);
  if (a.type.is_variable()) {
    return nest.for_each_outer(0, [&](index_t in_a, index_t in_b) {
      return detail::string_at(a.data, in_a) == detail::string_at(b.data, in_b);
    });
  }
  const std::size_t size = a.type.size();
  const detail::loop_axis inner = nest.inner(0);
  const auto stride = static_cast<index_t>(size);
  const bool is_run = nest.rank > 0 && inner.to == stride && inner.from == stride;
  return nest.for_each_outer(is_run ? 1 : 0, [&](index_t in_a, index_t in_b) {
    const std::size_t bytes = is_run ? static_cast<std::size_t>(inner.count) * size : size;
    return std::memcmp(a.data + in_a, b.data + in_b, bytes) == 0;
  });
}

}  // namespace detail

// ------------------------------------------------------------------------------ shard_metadata.hpp

ZARRPOINT_INLINE std::string to_string(const axis_fragment& part) {
  return "(" + std::to_string(part.axis) + ", " + std::to_string(part.position) + ", " +
         std::to_string(part.count) + ")";
}

namespace detail {

ZARRPOINT_INLINE result<void> place_fragment(shard_metadata& shard, const axis_fragment& part,
                                             std::vector<bool>& seen) {
  const auto refused = [&](const char* what) {
    return bad_shard(shard, "rank offset " + to_string(part) + ": " + what);
  };
  if (part.axis >= shard.global_shape.rank())
    return error{errc::out_of_range, refused("no such axis").message};
  if (seen[part.axis]) return refused("this axis was named before");
  if (part.position < 0 || part.count < 1 || part.position >= part.count)
    return refused("the position is not in [0, count)");
  seen[part.axis] = true;
  const index_t local = shard.global_shape[part.axis];
  index_t global = 0;
  if (__builtin_mul_overflow(local, part.count, &global))
    return error{errc::out_of_range, refused("the global extent overflows").message};
  shard.global_shape[part.axis] = global;
  shard.global_offset[part.axis] = local * part.position;
  (*shard.fragmentation)[part.axis] = part.count;
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<shard_metadata> from_rank_offsets(std::string key, const tensor_spec& local,
                                                          const sharding& where) {
  shard_metadata shard{.key = std::move(key), .type = local.type, .local_shape = local.shape};
  shard.replica = where.replica;
  shard.prepended_axes = where.prepended_axes;
  shard.allow_shape_mismatch = where.allow_shape_mismatch;
  if (where.prepended_axes > max_rank - local.shape.rank())
    return detail::bad_shard(shard, std::to_string(where.prepended_axes) +
                                        " prepended axes exceed the largest rank, " +
                                        std::to_string(max_rank));
  const std::size_t rank = where.prepended_axes + local.shape.rank();
  shard.global_offset = dims(rank, 0);
  shard.fragmentation = dims(rank, 1);
  shard.global_shape = shard.global_box().shape;
  std::vector<bool> seen(rank, false);
  for (const axis_fragment& part : where.offsets)
    ZARRPOINT_CHECK(detail::place_fragment(shard, part, seen));
  ZARRPOINT_CHECK(shard.check());
  return shard;
}

ZARRPOINT_INLINE result<shard_metadata> from_rank_offsets_flat(std::string key,
                                                               const tensor_spec& data,
                                                               const flat_shard& flat,
                                                               const sharding& where) {
  ZARRPOINT_TRY(shard, from_rank_offsets(std::move(key), {data.type, flat.local_shape}, where));
  shard.range = flat.range;
  ZARRPOINT_CHECK(shard.check());
  ZARRPOINT_CHECK(shard.check_value(data));
  return std::move(shard);
}

ZARRPOINT_INLINE std::string to_string(const replica_id& replica) {
  const std::vector<index_t>& parts = replica.parts();
  if (parts.size() == 1) return std::to_string(parts.front());
  std::string text = "(";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(parts[i]);
  }
  return text += ')';
}

ZARRPOINT_INLINE std::string to_string(const flat_range& range) {
  return "[" + std::to_string(range.start) + ":" + std::to_string(range.stop) + "]";
}

ZARRPOINT_INLINE box shard_metadata::global_box() const {
  box out{global_offset, dims(prepended_axes, 1)};
  for (const index_t extent : local_shape) out.shape.push_back(extent);
  return out;
}

namespace detail {

ZARRPOINT_INLINE error bad_shard(const shard_metadata& shard, std::string what) {
  return {errc::invalid_argument, "shard of \"" + shard.key + "\": " + std::move(what)};
}

ZARRPOINT_INLINE result<void> check_ranks(const shard_metadata& shard) {
  const std::size_t rank = shard.global_shape.rank();
  if (shard.global_offset.rank() != rank)
    return bad_shard(shard, "global offset " + to_string(shard.global_offset) +
                                " must have the same rank as global shape " +
                                to_string(shard.global_shape));
  if (shard.prepended_axes > rank || shard.local_shape.rank() != rank - shard.prepended_axes)
    return bad_shard(shard, "local shape " + to_string(shard.local_shape) + " and " +
                                std::to_string(shard.prepended_axes) +
                                " prepended axes do not add up to the rank of global shape " +
                                to_string(shard.global_shape));
  if (shard.fragmentation && shard.fragmentation->rank() != rank)
    return bad_shard(shard, "fragmentation " + to_string(*shard.fragmentation) +
                                " must have the same rank as global shape " +
                                to_string(shard.global_shape));
  return {};
}

ZARRPOINT_INLINE result<void> check_axis(const shard_metadata& shard, std::size_t axis) {
  const index_t global = shard.global_shape[axis];
  const index_t offset = shard.global_offset[axis];
  const bool prepended = axis < shard.prepended_axes;
  const index_t local = prepended ? 1 : shard.local_shape[axis - shard.prepended_axes];
  const auto refused = [&](const std::string& what) {
    return bad_shard(shard, "axis " + std::to_string(axis) + ": " + what);
  };
  if (global < 0 || offset < 0 || local < 0) return refused("a negative shape or offset");
  index_t end = 0;
  if (__builtin_add_overflow(offset, local, &end) || end > global)
    return error{
        errc::out_of_range,
        refused("offset " + std::to_string(offset) + " and extent " + std::to_string(local) +
                " reach beyond the global extent " + std::to_string(global))
            .message};
  if (!shard.fragmentation) return {};
  const index_t fragments = (*shard.fragmentation)[axis];
  if (fragments < 1) return refused("a fragmentation below 1");
  if (local != 0 && offset % local != 0)
    return refused("global offset " + std::to_string(offset) +
                   " is not divisible by the local extent " + std::to_string(local));
  index_t covered = 0;
  if (__builtin_mul_overflow(local, fragments, &covered) || covered != global)
    return refused(std::to_string(fragments) + " fragments of " + std::to_string(local) +
                   " are not the global extent " + std::to_string(global));
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<void> shard_metadata::check() const {
  const std::size_t rank = global_shape.rank();
  if (key.empty()) return error{errc::invalid_argument, "a shard has no key"};
  if (!type.valid()) return detail::bad_shard(*this, "no data type");
  ZARRPOINT_CHECK(detail::check_ranks(*this));
  for (std::size_t axis = 0; axis < rank; ++axis) ZARRPOINT_CHECK(detail::check_axis(*this, axis));
  // The context of the error is made where there is one: many shards are checked.
  if (auto bytes = byte_count(global_shape, std::max<std::size_t>(type.size(), 1)); !bytes)
    return std::move(bytes).at("shard of \"" + key + "\"").failure();
  if (range && local_shape.rank() == 0)
    return detail::bad_shard(*this, "a shard of rank 0 cannot have a flat range");
  ZARRPOINT_TRY(volume, element_count(local_shape));
  if (range && (range->start < 0 || range->stop < range->start || range->stop > volume))
    return error{
        errc::out_of_range,
        detail::bad_shard(*this, "flat range " + to_string(*range) + " reaches beyond a shard of " +
                                     std::to_string(volume) + " elements")
            .message};
  return {};
}

ZARRPOINT_INLINE result<void> shard_metadata::check_value(const tensor_spec& value) const {
  if (value.type != type)
    return error{errc::dtype_mismatch, "shard of \"" + key + "\": the value is of dtype " +
                                           std::string(to_string(value.type)) + ", wanted " +
                                           std::string(to_string(type))};
  if (range && value.shape.rank() != 1)
    return error{errc::shape_mismatch, "shard of \"" + key +
                                           "\": the value of a flat range has shape " +
                                           to_string(value.shape) + ", wanted rank 1"};
  if (value.shape != data_shape())
    return error{errc::shape_mismatch, "shard of \"" + key + "\": the value has shape " +
                                           to_string(value.shape) + ", wanted " +
                                           to_string(data_shape())};
  return {};
}

namespace detail {

// ------------------------------------------------------------------------------- device_shards.hpp

ZARRPOINT_INLINE box data_box(const shard_metadata& shard) {
  box out = box::whole(shard.data_shape());
  if (shard.range) return out;
  for (std::size_t i = 0; i < out.rank(); ++i)
    out.offset[i] = shard.global_offset[shard.prepended_axes + i];
  return out;
}

ZARRPOINT_INLINE dims data_unit(const shard_metadata& shard, const dims& unit) {
  dims out(shard.data_shape().rank(), 1);
  if (shard.range || unit.rank() != shard.prepended_axes + out.rank()) return out;
  for (std::size_t i = 0; i < out.rank(); ++i)
    out[i] = std::max<index_t>(unit[shard.prepended_axes + i], 1);
  return out;
}

ZARRPOINT_INLINE result<void> read_all(element_source& from, const mutable_host_view& to) {
  const piece_grid parts =
      piece_grid::make(box::whole(to.shape), dims(to.rank(), 1), to.type.size(), from.part_bytes());
  std::unique_ptr<source_part> coming;
  box place;
  const auto arrive = [&]() -> result<void> {
    if (coming == nullptr) return {};
    ZARRPOINT_TRY(elements, coming->wait());
    copy_elements(subview(to, selection(place)), elements);
    coming.reset();
    return {};
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ZARRPOINT_TRY(next, from.begin(parts.at(i), coming == nullptr));
    std::unique_ptr<source_part> asked = std::move(next);
    ZARRPOINT_CHECK(arrive());
    if (asked == nullptr) {  // the only block was ours
      ZARRPOINT_TRY(later, from.begin(parts.at(i), true));
      asked = std::move(later);
    }
    coming = std::move(asked);
    place = parts.at(i);
  }
  return arrive();
}

// --------------------------------------------------------------------------------- shard_value.hpp

ZARRPOINT_INLINE box relative_to(const box& of, const box& part) {
  box out = part;
  for (std::size_t i = 0; i < part.rank(); ++i) out.offset[i] -= of.offset[i];
  return out;
}

}  // namespace detail

// ------------------------------------------------------------------------------------- sharded.hpp

ZARRPOINT_INLINE sharded_tensor sharded_tensor::with(shard_metadata metadata) const {
  sharded_tensor out = *this;
  out.metadata_ = std::move(metadata);
  return out;
}

ZARRPOINT_INLINE result<sharded_tensor> sharded_tensor::part(shard_metadata metadata,
                                                             const box& of) const {
  sharded_tensor out(std::move(metadata));
  if (has_data()) {
    ZARRPOINT_CHECK(validate());
    ZARRPOINT_CHECK(selection(of).check(metadata_.data_shape()));
    detail::held_value view = table_->part(value_, metadata_, of);
    out.table_ = view.table;
    out.value_ = std::move(view.value);
  }
  ZARRPOINT_CHECK(out.validate());
  return out;
}

ZARRPOINT_INLINE result<void> sharded_tensor::validate() const {
  ZARRPOINT_CHECK(metadata_.check());
  if (!has_data()) return {};
  ZARRPOINT_TRY(spec, table_->spec(value_.get(), metadata_));
  return metadata_.check_value(spec);
}

ZARRPOINT_INLINE result<staged> sharded_tensor::stage(memory_resource& resource) const {
  if (!has_data()) return detail::bad_shard(metadata_, "it has no value to save");
  return table_->stage(value_.get(), metadata_, resource);
}

ZARRPOINT_INLINE result<std::unique_ptr<element_source>> sharded_tensor::source(
    const context& how, const box* part) const {
  if (!has_data()) return detail::bad_shard(metadata_, "it has no value to save");
  return table_->source(value_.get(), metadata_, {part, how});
}

ZARRPOINT_INLINE result<void> sharded_tensor::copy_to(const mutable_host_view& to,
                                                      const context& how) const {
  ZARRPOINT_TRY(from, source(how));
  if (from != nullptr) return detail::read_all(*from, to);
  ZARRPOINT_TRY(elements, stage(how.scratch->resource()));
  copy_elements(to, elements.view);
  return {};
}

ZARRPOINT_INLINE result<void> sharded_tensor::fill(const fill_function& read, const context& how,
                                                   const dims& unit) const {
  if (!has_data()) return detail::bad_shard(metadata_, "it has no value to load into");
  return table_->fill(value_.get(), metadata_, {read, unit, with_scratch(how)});
}

ZARRPOINT_INLINE result<void> sharded_tensor::init_data(memory_resource& resource) {
  if (has_data()) return {};
  ZARRPOINT_TRY(made, tensor::make(metadata_.data_spec(), resource));
  if (!metadata_.type.is_variable())
    std::fill_n(made.mutable_view().data, made.size() * memory_size(made.type()), std::byte{0});
  *this = sharded_tensor(detail::sharded_functions<tensor, handler_of<tensor>>::table, metadata_,
                         detail::make_counted<tensor>(std::move(made)));
  return {};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/base/bodies.hpp>
#include <zarrpoint/array/grid/bodies.hpp>
#include <zarrpoint/handler/types/bodies.hpp>
#include <zarrpoint/memory/device/bodies.hpp>
#endif
