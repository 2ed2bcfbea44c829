// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/memory/device_buffer.hpp>
#include <zarrpoint/memory/device_space.hpp>
#include <zarrpoint/memory/packed_rows.hpp>
#include <zarrpoint/memory/staging_ring.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace zarrpoint::inline v0::detail {

/// Parts of a device tensor that are made on the host, in slots of a ring, and go from there by the
/// stream of its space. Thread-safe: parts that do not overlap may be delivered at the same time.
template <device_space Space>
class device_delivery {
 public:
  device_delivery(const mutable_tensor_view<Space>& into, std::shared_ptr<staging_ring<Space>> ring)
      : into_(into), ring_(std::move(ring)), has_kernels_(has_kernels(into.space)) {}

  const mutable_tensor_view<Space>& target() const noexcept { return into_; }
  staging_ring<Space>& ring() const noexcept { return *ring_; }

  /// Has `fill(mutable_host_view)` make the elements of `part`, and asks for the copies of them.
  /// The host view is of the part's shape, in the order that suits the target, and of the type
  /// `from` if a kernel casts them, else of the target's own. The part fits a slot in either type.
  /// Errors: those of `fill`, of the ring and of the space.
  template <class F>
  result<void> deliver(const box& part, dtype from, F&& fill) const {
    const mutable_tensor_view<Space> to = subview(into_, part);
    const packed_rows rows = packed_rows::of(to.shape, to.strides, to.type.size());
    ZARRPOINT_TRY(slot, ring_->acquire());
    std::byte* const first = slot.bytes().data();
    mutable_host_view host{first + rows.first, to.type, to.shape, rows.strides, {}, {}};
    device_buffer<Space> scratch;
    if (has_kernels_ && (from != to.type || !is_simple(rows, host))) {
      // A device that is all but full has no room for it; the host then does the work.
      auto made = device_buffer<Space>::allocate(into_.space, scratch_bytes(to, from));
      if (made) {
        scratch = *std::move(made);
        host = dense_view(first, {from, to.shape});
      } else if (made.failure().code != errc::resource_limit) {
        return std::move(made).failure();
      }
    }
    ZARRPOINT_CHECK(fill(host));
    slot.used_by(to.space);
    if (scratch.data() == nullptr) {
      ZARRPOINT_CHECK(rows.for_each_copy([&](index_t device, index_t packed) {
        return to.space.copy_from_host(to.data + rows.low + device, first + packed, rows.rows);
      }));
    } else {
      ZARRPOINT_CHECK(place_by_kernels(to, host, scratch.data()));
    }
    ZARRPOINT_TRY(last, to.space.record());
    slot.release(last);
    return {};
  }

  /// Whether the target is memory of the device in which no elements share a place. Errors:
  /// `invalid_argument`, those of the space.
  result<void> check() const {
    const packed_rows rows = packed_rows::of(into_.shape, into_.strides, into_.type.size());
    if (rows.bytes == 0) return {};
    if (rows.bytes != dense_bytes(into_.shape, into_.type))
      return error{errc::invalid_argument, "elements of the target share memory: its strides are " +
                                               to_string(into_.strides)};
    return into_.space.check(into_.data + rows.low, rows.cover);
  }

  /// Whether the target has no gaps, whatever the order of its axes.
  bool is_run() const {
    const packed_rows rows = packed_rows::of(into_.shape, into_.strides, into_.type.size());
    return rows.is_run() && rows.bytes == dense_bytes(into_.shape, into_.type);
  }

  /// Has a kernel reverse the bytes of each number of a target without gaps.
  result<void> swap_bytes() const requires kernel_space<Space> {
    const packed_rows rows = packed_rows::of(into_.shape, into_.strides, into_.type.size());
    if (rows.bytes == 0) return {};
    const std::size_t size = into_.type.scalar_size();
    return into_.space.swap_bytes(into_.data + rows.low, size, rows.bytes / size);
  }

  /// Zero everywhere if the target has no gaps; else false.
  result<bool> zero_at_once() const {
    const packed_rows rows = packed_rows::of(into_.shape, into_.strides, into_.type.size());
    if (rows.bytes == 0) return true;
    if (!rows.is_run()) return false;
    ZARRPOINT_CHECK(into_.space.fill(into_.data + rows.low, std::byte{}, rows.bytes));
    return true;
  }

 private:
  static constexpr std::size_t alignment = 256;
  /// Narrower rows cost a device more than their bytes.
  static constexpr std::size_t wide_row = 64;

  /// Whether copies of rows, which keep the order of the elements, are as good as a kernel.
  static bool is_simple(const packed_rows& rows, const mutable_host_view& packed) {
    const bool few = rows.is_run() || (rows.copies() == 1 && rows.rows.width >= wide_row);
    return few && is_dense(packed);
  }
  static std::size_t dense_bytes(const dims& shape, dtype type) {
    return byte_count(shape, type.size()).value_or(0);  // it was counted before
  }
  static std::size_t second_part(const dims& shape, dtype type) {
    return (dense_bytes(shape, type) + alignment - 1) / alignment * alignment;
  }
  static std::size_t scratch_bytes(const mutable_tensor_view<Space>& to, dtype from) {
    const std::size_t cast = from != to.type && !is_dense(to) ? dense_bytes(to.shape, to.type) : 0;
    return second_part(to.shape, from) + cast;
  }

  /// Copies all to the device as it is, and has it cast and moved there.
  result<void> place_by_kernels([[maybe_unused]] const mutable_tensor_view<Space>& to,
                                [[maybe_unused]] const mutable_host_view& from,
                                [[maybe_unused]] std::byte* scratch) const {
    if constexpr (kernel_space<Space>) {
      const bool dense = is_dense(to);
      ZARRPOINT_CHECK(
          to.space.copy_from_host(scratch, from.data, {dense_bytes(from.shape, from.type)}));
      const std::byte* elements = scratch;
      if (from.type != to.type) {
        std::byte* const made = dense ? to.data : scratch + second_part(from.shape, from.type);
        const auto count = static_cast<std::size_t>(element_count(to.shape).value_or(0));
        ZARRPOINT_CHECK(to.space.cast({made, to.type, scratch, from.type, count}));
        elements = made;
        if (dense) return {};
      }
      return to.space.move({to.data, elements, to.type.size(), to.shape, to.strides,
                            row_major_strides(to.shape, to.type.size())});
    } else {
      return error{errc::unsupported, "a device without kernels"};
    }
  }

  mutable_tensor_view<Space> into_;
  std::shared_ptr<staging_ring<Space>> ring_;
  bool has_kernels_;
};

}  // namespace zarrpoint::inline v0::detail
