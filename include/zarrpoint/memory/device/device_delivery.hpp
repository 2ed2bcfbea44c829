// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_buffer.hpp>
#include <zarrpoint/memory/device/packed_rows.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Elements as they come to a device, where its kernels make them those of a target.
struct device_form {
  dtype type;
  bool is_reversed = false;  ///< each number has its bytes in the other order
};

/// Chunks that come to a device one after another as planes of bytes: first those of the first
/// bytes of all elements.
struct chunk_planes {
  dims shape;             ///< of a chunk
  device_form form;       ///< of its elements
  std::size_t width = 0;  ///< how many planes a chunk has
  std::size_t count = 0;  ///< chunks
};

/// Parts of a device tensor that are made on the host, in slots of a ring, and go from there by the
/// stream of its space. Thread-safe: parts that do not overlap may be delivered at the same time.
template <device_space Space>
class device_delivery {
 public:
  device_delivery(const mutable_tensor_view<Space>& into, std::shared_ptr<staging_ring<Space>> ring)
      : into_(into), ring_(std::move(ring)), has_kernels_(has_kernels(into.space)) {}

  const mutable_tensor_view<Space>& target() const noexcept { return into_; }
  staging_ring<Space>& ring() const noexcept { return *ring_; }

  /// Has `fill(mutable_host_view, device_form)` make the elements of `part`, and asks for the
  /// copies of them. The host view is of the part's shape and in the order that suits the target.
  /// Its elements are to be of `form` if kernels do the rest, else those of the target. The part
  /// fits a slot in either type. Errors: those of `fill`, of the ring and of the space.
  template <class F>
  result<void> deliver(const box& part, const device_form& form, F&& fill) const {
    const mutable_tensor_view<Space> to = subview(into_, part);
    const packed_rows rows = packed_rows::of(to.shape, to.strides, to.type.size());
    ZARRPOINT_TRY(slot, ring_->acquire());
    std::byte* const first = slot.bytes().data();
    mutable_host_view host{first + rows.first, to.type, to.shape, rows.strides, {}, {}};
    device_form arriving{to.type};
    device_buffer<Space> scratch;
    if (has_kernels_ && (form.type != to.type || form.is_reversed || !is_simple(rows, host))) {
      const std::size_t cast = is_dense(to) ? 0 : cast_bytes(to.shape, form);
      // A device that is all but full has no room for it; the host then does the work.
      auto made =
          device_buffer<Space>::allocate(into_.space, padded_bytes(to.shape, form.type) + cast);
      if (made) {
        scratch = *std::move(made);
        host = dense_view(first, {form.type, to.shape});
        arriving = form;
      } else if (made.failure().code != errc::resource_limit) {
        return std::move(made).failure();
      }
    }
    ZARRPOINT_CHECK(fill(host, arriving));
    slot.used_by(to.space);
    if (scratch.data() == nullptr) {
      ZARRPOINT_CHECK(rows.for_each_copy([&](index_t device, index_t packed) {
        return to.space.copy_from_host(to.data + rows.low + device, first + packed, rows.rows);
      }));
    } else {
      const std::size_t bytes = dense_bytes(to.shape, form.type);
      ZARRPOINT_CHECK(to.space.copy_from_host(scratch.data(), first, {.width = bytes}));
      ZARRPOINT_CHECK(release(slot));
      const box whole = box::whole(to.shape);
      return place(to, {scratch.data(), to.shape, whole}, form,
                   scratch.data() + padded_bytes(to.shape, form.type));
    }
    return release(slot);
  }

  /// The same of elements that are those of the target, by `fill(mutable_host_view)`.
  template <class F>
  result<void> deliver(const box& part, F&& fill) const {
    return deliver(part, {into_.type},
                   [&](const mutable_host_view& to, const device_form&) { return fill(to); });
  }

  /// Has `fill(mutable_bytes)` make the planes of all chunks, which fit a slot together, and
  /// kernels make elements of them. `at(i)` gives the elements of chunk `i` that are wanted, as a
  /// box of the chunk, and where they go, as a box of the target. False when the device has no
  /// memory for it; then nothing was done. Errors: as of `deliver`.
  template <class F, class At>
  result<bool> deliver_planes(const chunk_planes& planes, F&& fill, At&& at) const {
    if constexpr (kernel_space<Space>) {
      const std::size_t bytes = dense_bytes(planes.shape, planes.form.type);
      const std::size_t room = padded(planes.count * bytes);
      const std::size_t elements = padded_bytes(planes.shape, planes.form.type);
      ZARRPOINT_TRY(slot, ring_->acquire());
      auto made = device_buffer<Space>::allocate(
          into_.space, room + elements + cast_bytes(planes.shape, planes.form));
      if (!made) {
        if (made.failure().code == errc::resource_limit) return false;
        return std::move(made).failure();
      }
      const device_buffer<Space> scratch = *std::move(made);
      const mutable_bytes stored = slot.bytes().first(planes.count * bytes);
      ZARRPOINT_CHECK(fill(stored));
      slot.used_by(into_.space);
      ZARRPOINT_CHECK(
          into_.space.copy_from_host(scratch.data(), stored.data(), {.width = stored.size()}));
      ZARRPOINT_CHECK(release(slot));
      std::byte* const apart = scratch.data() + room;
      for (std::size_t i = 0; i < planes.count; ++i) {
        const auto [wanted, destination] = at(i);
        const mutable_tensor_view<Space> to = subview(into_, destination);
        const bool in_place = is_straight(to, planes.shape) && planes.form.type == to.type;
        std::byte* const whole = in_place ? to.data : apart;
        ZARRPOINT_CHECK(into_.space.unshuffle(whole, scratch.data() + i * bytes, planes.width,
                                              bytes / planes.width));
        ZARRPOINT_CHECK(place(to, {whole, planes.shape, wanted}, planes.form, apart + elements));
      }
      return true;
    } else {
      return false;
    }
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

  /// Whether all elements of a chunk lie in `to` as in the chunk.
  static bool is_straight(const mutable_tensor_view<Space>& to, const dims& chunk) {
    return to.shape == chunk && is_dense(to);
  }

  /// A chunk whose elements lie dense on the device, and those of it that are wanted.
  struct device_chunk {
    std::byte* elements;
    dims shape;
    box wanted;
  };

  /// Has kernels make the elements of a chunk those of the target, and move them there if they are
  /// not there already. `room`: for as many elements as are cast.
  result<void> place([[maybe_unused]] const mutable_tensor_view<Space>& to,
                     [[maybe_unused]] const device_chunk& from,
                     [[maybe_unused]] const device_form& form,
                     [[maybe_unused]] std::byte* room) const {
    if constexpr (kernel_space<Space>) {
      const auto count = static_cast<std::size_t>(element_count(from.shape).value_or(0));
      if (form.is_reversed) {
        const std::size_t size = form.type.scalar_size();
        ZARRPOINT_CHECK(to.space.swap_bytes(from.elements, size, count * form.type.size() / size));
      }
      std::byte* elements = from.elements;
      if (form.type != to.type) {
        elements = is_straight(to, from.shape) ? to.data : room;
        ZARRPOINT_CHECK(to.space.cast({elements, to.type, from.elements, form.type, count}));
      }
      if (elements == to.data) return {};
      const dims strides = row_major_strides(from.shape, to.type.size());
      const std::byte* first = elements;
      for (std::size_t d = 0; d < strides.rank(); ++d) first += from.wanted.offset[d] * strides[d];
      return to.space.move({to.data, first, to.type.size(), to.shape, to.strides, strides});
    } else {
      return error{errc::unsupported, "this needs a kernel, and the device has none"};
    }
  }

 private:
  /// After the last copy from a slot was asked for: kernels work with the device's memory only.
  result<void> release(typename staging_ring<Space>::slot& slot) const {
    ZARRPOINT_TRY(copied, into_.space.record());
    slot.release(copied);
    return {};
  }

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
  static std::size_t padded(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }
  static std::size_t padded_bytes(const dims& shape, dtype type) {
    return padded(dense_bytes(shape, type));
  }
  /// Room for elements of `shape` once they are cast, if they are to be.
  std::size_t cast_bytes(const dims& shape, const device_form& form) const {
    return form.type == into_.type ? 0 : dense_bytes(shape, into_.type);
  }

  mutable_tensor_view<Space> into_;
  std::shared_ptr<staging_ring<Space>> ring_;
  bool has_kernels_;
};

}}}  // namespace zarrpoint::v0::detail
