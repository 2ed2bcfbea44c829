// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/background.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/base/scratch_tensor.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/read_operation.hpp>
#include <zarrpoint/array/rectilinear.hpp>
#include <zarrpoint/array/sparse_read.hpp>
#include <zarrpoint/array/write/write_operation.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/progress.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Whether the memory given for a selection of an array fits it.
inline result<void> check_transfer(const array_state& of, const selection& part,
                                   const tensor_spec& memory, bool cast) {
  ZARRPOINT_CHECK(part.check(of.metadata.shape));
  if (!(cast ? memory.type.castable_to(of.metadata.type) : memory.type == of.metadata.type))
    return error{errc::dtype_mismatch, "the array is of type " +
                                           std::string(to_string(of.metadata.type)) + ", not " +
                                           std::string(to_string(memory.type))};
  if (memory.shape != part.shape)
    return error{errc::shape_mismatch, "the selection has shape " + to_string(part.shape) +
                                           ", the memory " + to_string(memory.shape)};
  return {};
}

/// The decoded bytes of a selection, for the total of a progress meter.
inline std::uint64_t transfer_bytes(const array_state& of, const dims& shape) {
  return byte_count(shape, memory_size(of.metadata.type)).value_or(0);
}

}  // namespace detail

ZARRPOINT_INLINE result<void> array::read(const selection& part, const mutable_host_view& into,
                                          const read_options& options) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(detail::at_array(
        detail::check_transfer(*state_, part, into.spec(), options.cast), *state_));
    const context& how = options.how != nullptr ? *options.how : state_->how;
    const read_options checked = with_digests(options);
    progress_meter own(options.meter ? progress_callback() : how.progress, "read",
                       detail::transfer_bytes(*state_, part.shape));
    progress_meter& meter = options.meter != nullptr ? *options.meter : own;
    if (detail::sparse_read::suits(*state_, part, checked))
      return detail::at_array(detail::sparse_read(*state_, how, into, checked).run(part, meter),
                              *state_);
    if (!state_->metadata.edges.empty())
      return explained(detail::at_array(
          detail::rectilinear_array(*state_, how, part).read(into, checked, meter), *state_));
    detail::read_operation operation(*state_, how, into, checked);
    return explained(detail::at_array(operation.run(part, meter), *state_));
  });
}

ZARRPOINT_INLINE result<tensor> array::read(const selection& part,
                                            const read_options& options) const {
  return guarded([&]() -> result<tensor> {
    ZARRPOINT_CHECK(detail::at_array(part.check(state_->metadata.shape), *state_));
    const context& given = options.how != nullptr ? *options.how : state_->how;
    const auto scratch = detail::scratch_of_part(*state_, given, part.shape);
    context how = given;
    how.scratch = scratch.pool();
    scratch_account made(*how.scratch);
    read_options by = options;
    by.how = &how;
    const tensor_spec spec{state_->metadata.type, part.shape};
    ZARRPOINT_TRY(out, detail::at_array(detail::make_tensor(spec, how, made), *state_));
    ZARRPOINT_CHECK(read(part, out.mutable_view(), by));
    return std::move(out);
  });
}

namespace detail {

/// `array::write` from a `host_view` or an `element_source`.
template <class Source>
result<void> write_to(const array_state& of, const selection& part, Source& from,
                      const write_options& options) {
  ZARRPOINT_CHECK(check_transfer(of, part, from.spec(), options.cast));
  if (!of.layout.can_write())
    return error{errc::unsupported,
                 "this array can only be read: this build does not know one of its codecs"};
  const context& how = options.how != nullptr ? *options.how : of.how;
  progress_meter own(options.meter ? progress_callback() : how.progress, "write",
                     transfer_bytes(of, part.shape));
  progress_meter& meter = options.meter != nullptr ? *options.meter : own;
  if (!of.metadata.edges.empty())
    return rectilinear_array(of, how, part).write(from, options, meter);
  write_operation operation(of, how, from, options);
  return operation.run(part, meter);
}

}  // namespace detail

ZARRPOINT_INLINE result<void> array::write(const selection& part, const host_view& from,
                                           const write_options& options) const {
  return guarded([&]() -> result<void> {
    return detail::at_array(detail::write_to(*state_, part, from, options), *state_);
  });
}

ZARRPOINT_INLINE result<void> array::write(const selection& part, element_source& from,
                                           const write_options& options) const {
  return guarded([&]() -> result<void> {
    return detail::at_array(detail::write_to(*state_, part, from, options), *state_);
  });
}

ZARRPOINT_INLINE pending<tensor> array::read_async(const selection& part,
                                                   const read_options& options) const {
  return detail::in_background(state_->how, options, [self = *this, part](const read_options& by) {
    return self.read(part, by);
  });
}

ZARRPOINT_INLINE pending<void> array::write_async(const selection& part, element_source& from,
                                                  const write_options& options) const {
  return detail::in_background(
      state_->how, options,
      [self = *this, part, &from](const write_options& by) { return self.write(part, from, by); });
}

}}  // namespace zarrpoint::v0
