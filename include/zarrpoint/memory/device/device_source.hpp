// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_buffer.hpp>
#include <zarrpoint/memory/device/packed_rows.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <atomic>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A part in a slot of a ring.
template <device_space Space>
class device_part : public source_part {
 public:
  using slot = typename staging_ring<Space>::slot;

  device_part(const Space& space, slot held) : space_(space), slot_(std::move(held)) {
    slot_.used_by(space_);
  }
  /// A slot whose copies nobody has waited for waits for the stream itself.
  ~device_part() override {
    if (done_.load(std::memory_order_relaxed)) slot_.release(event_);
  }

  mutable_bytes bytes() const { return slot_.bytes(); }
  bytes_view memory() const override { return slot_.bytes(); }
  result<void> begun(const host_view& elements) {
    ZARRPOINT_TRY(event, space_.record());
    event_ = event;
    elements_ = elements;
    return {};
  }
  result<host_view> wait() override {
    ZARRPOINT_CHECK(space_.wait(event_));
    done_.store(true, std::memory_order_relaxed);
    return elements_;
  }

 protected:
  /// Before more is asked for after a `wait`.
  void go_on() { done_.store(false, std::memory_order_relaxed); }

  const Space space_;

 private:
  slot slot_;
  typename Space::event event_{};
  host_view elements_;
  std::atomic<bool> done_{false};
};

/// Elements on a device that are packed by copies of rows.
struct packed_source {
  const std::byte* first = nullptr;  ///< of all their bytes
  packed_rows rows;

  /// Calls `f(first byte on the device, offset in the packed memory, rows)` for blocks of at most
  /// `most` bytes.
  template <class F>
  result<void> for_each_block(std::size_t most, F&& f) const {
    const row_block& all = rows.rows;
    const std::size_t width = std::min(all.width, most);
    const std::size_t count = std::max<std::size_t>(most / all.width, 1);
    return rows.for_each_copy([&](index_t device, index_t host) -> result<void> {
      for (std::size_t row = 0; row < all.count; row += count) {
        for (std::size_t column = 0; column < all.width; column += width) {
          row_block one = all;
          one.count = std::min(count, all.count - row);
          one.width = std::min(width, all.width - column);
          ZARRPOINT_CHECK(f(first + device + row * all.device_pitch + column,
                            static_cast<std::size_t>(host) + row * all.host_pitch + column, one));
        }
      }
      return {};
    });
  }
};

/// A tensor on a device, read by way of the ring of the device. Rows and blocks of rows, in any
/// order of the axes, are copied as they lie. Elements that lie further apart are gathered by a
/// kernel where there is one, and else copied with what lies between them, or one by one.
template <device_space Space>
class device_source : public element_source {
 public:
  /// The elements of `from`, which stay as they are until the source is destroyed. The stream of
  /// its space waits until they are ready. `Self`: this, or what is derived from it. Errors:
  /// `invalid_argument` for memory of another device, `unsupported` for strings; those of the
  /// space.
  template <class Self = device_source>
  static result<std::unique_ptr<element_source>> make(const tensor_view<Space>& from,
                                                      std::shared_ptr<staging_ring<Space>> ring) {
    if (from.type.is_variable())
      return error{errc::unsupported,
                   "strings live in host memory only; load or save them without a device"};
    ZARRPOINT_CHECK(byte_count(from.spec()));
    const packed_rows rows = rows_of(from);
    if (rows.bytes != 0) {
      ZARRPOINT_CHECK(from.space.check(from.data + rows.low, rows.cover));
      ZARRPOINT_CHECK(from.space.follow(from.ready));
    }
    return std::unique_ptr<element_source>(std::make_unique<Self>(from, std::move(ring)));
  }

  device_source(const tensor_view<Space>& from, std::shared_ptr<staging_ring<Space>> ring)
      : from_(from), spec_(from.spec()), ring_(std::move(ring)) {}
  ~device_source() override { static_cast<void>(settle()); }

  const tensor_spec& spec() const noexcept override { return spec_; }
  std::size_t part_bytes() const override { return ring_->slot_bytes(); }
  const void* lane() const noexcept override { return ring_.get(); }
  double pin_seconds() const override { return ring_->pin_seconds(); }

  result<std::unique_ptr<source_part>> begin(const box& part, bool wait) override {
    ZARRPOINT_TRY(out, new_part(wait));
    if (out == nullptr) return std::unique_ptr<source_part>();
    ZARRPOINT_TRY(elements, copy_part(subview(from_, part), out->bytes()));
    ZARRPOINT_CHECK(out->begun(elements));
    return std::unique_ptr<source_part>(std::move(out));
  }

  /// Those that are one run of bytes.
  std::size_t joint_bytes() const override {
    const packed_rows rows = rows_of(from_);
    if (!rows.is_run() || rows.bytes > PTRDIFF_MAX) return 0;
    return (rows.bytes + joint_alignment - 1) / joint_alignment * joint_alignment;
  }
  /// Of one ring, and one stream: the part then has one event.
  bool joins(const element_source& other) const override {
    if (other.kind() != kind()) return false;
    const auto& same = static_cast<const device_source&>(other);
    return same.ring_ == ring_ && same.from_.space == from_.space;
  }
  const void* kind() const noexcept override { return &tag; }

  result<std::unique_ptr<source_part>> begin_joint(joint_read& all, bool wait) override {
    ZARRPOINT_TRY(out, new_part(wait));
    if (out == nullptr) return std::unique_ptr<source_part>();
    mutable_bytes left = out->bytes();
    for (all.asked = 0; all.asked < all.sources.size(); ++all.asked) {
      const auto& one = static_cast<const device_source&>(*all.sources[all.asked]);
      const std::size_t bytes = one.joint_bytes();
      ZARRPOINT_TRY(elements, one.copy_part(one.from_, left.first(std::min(bytes, left.size()))));
      all.views[all.asked] = elements;
      left = left.subspan(std::min(bytes, left.size()));
    }
    ZARRPOINT_CHECK(out->begun({}));
    return std::unique_ptr<source_part>(std::move(out));
  }

  result<owned_elements> read(const box& part, memory_resource& resource) override {
    const tensor_view<Space> from = subview(from_, part);
    const packed_rows rows = rows_of(from);
    ZARRPOINT_TRY(memory, buffer::allocate(rows.bytes, resource));
    owned_elements out{packed_view(from, rows, memory.data()), {}};
    if (rows.bytes != 0) {
      device_buffer<Space> gathered;
      ZARRPOINT_TRY(source, packed_on_device(from, rows, gathered));
      ZARRPOINT_CHECK(stream(source, memory.bytes()));
    }
    out.memory = std::move(memory);
    return out;
  }

  result<void> copy_in_place() override {
    const packed_rows rows = rows_of(from_);
    if (rows.bytes == 0) return {};
    bool packs = false;
    if constexpr (kernel_space<Space>) packs = rows.cover != rows.bytes && has_kernels(from_.space);
    if (!packs && rows.cover / 2 > rows.bytes)
      return error{errc::resource_limit,
                   "a copy on the device would take " + std::to_string(rows.cover) +
                       " bytes for elements of " + std::to_string(rows.bytes)};
    const std::size_t bytes = packs ? rows.bytes : rows.cover;
    ZARRPOINT_TRY(memory, device_buffer<Space>::lasting(from_.space, bytes));
    copy_ = std::move(memory);
    auto copied = ask_for_copy(rows, packs);
    if (!copied) {
      static_cast<void>(wait_for_stream(from_.space));
      copy_ = {};
      return std::move(copied).failure();
    }
    copied_ = *copied;
    copying_ = true;
    from_.data = packs ? copy_.data() + rows.first : copy_.data() - rows.low;
    if (packs) from_.strides = rows.strides;
    return {};
  }

  result<void> settle() override {
    if (!copying_) return {};
    copying_ = false;
    return from_.space.wait(copied_);
  }

 protected:
  using part = detail::device_part<Space>;

  /// In a slot; null without one when `wait` is false. `more` goes to its constructor.
  template <class Part = part, class... More>
  result<std::unique_ptr<Part>> new_part(bool wait, More&&... more) const {
    if (wait) {
      ZARRPOINT_TRY(acquired, ring_->acquire());
      return std::make_unique<Part>(from_.space, std::move(acquired), std::forward<More>(more)...);
    }
    auto held = ring_->try_acquire();
    if (!held) return std::unique_ptr<Part>();
    return std::make_unique<Part>(from_.space, std::move(*held), std::forward<More>(more)...);
  }

 private:
  static packed_rows rows_of(const tensor_view<Space>& from) {
    return packed_rows::of(from.shape, from.strides, from.type.size());
  }
  static host_view packed_view(const tensor_view<Space>& from, const packed_rows& rows,
                               const std::byte* to) {
    return {to + rows.first, from.type, from.shape, rows.strides, {}, {}};
  }

  /// Whether copies of rows would be many or short ones, which take their time.
  static bool is_scattered(const packed_rows& rows) {
    return !rows.is_run() && (rows.rows.width < 512 || rows.copies() > 64);
  }

  /// Packs elements by a kernel, for callers that copy them to the host afterwards. Without memory
  /// for that, or without kernels, they stay where they are.
  result<detail::packed_source> packed_on_device(
      [[maybe_unused]] const tensor_view<Space>& from, const packed_rows& rows,
      [[maybe_unused]] device_buffer<Space>& scratch) const {
    if constexpr (kernel_space<Space>) {
      if (is_scattered(rows) && has_kernels(from.space)) {
        auto made = device_buffer<Space>::allocate(from_.space, rows.bytes);
        if (made) {
          scratch = std::move(*made);
          ZARRPOINT_CHECK(gather(from, rows, scratch.data()));
          return detail::packed_source{scratch.data(), run_of(rows.bytes)};
        }
        if (made.failure().code != errc::resource_limit) return std::move(made).failure();
      }
    }
    return detail::packed_source{from.data + rows.low, rows};
  }
  static packed_rows run_of(std::size_t bytes) {
    return packed_rows::of({static_cast<index_t>(bytes)}, {1}, 1);
  }
  static result<void> gather(const tensor_view<Space>& from, const packed_rows& rows,
                             std::byte* to) {
    strided_move packing{to + rows.first, from.data,    from.type.size(),
                         from.shape,      rows.strides, from.strides};
    for (std::size_t d = 0; d < from.rank(); ++d) {
      if (from.strides[d] == 0) packing.shape[d] = 1;  // what is repeated is packed once
    }
    return from.space.move(packing);
  }

 protected:
  const tensor_view<Space>& elements() const { return from_; }

  /// Asks for the copies of a part into a slot; how its elements will lie there.
  result<host_view> copy_part(const tensor_view<Space>& from, mutable_bytes to) const {
    const packed_rows rows = rows_of(from);
    host_view out = packed_view(from, rows, to.data());
    if (rows.bytes == 0) return out;
    if (rows.bytes > to.size())
      return error{errc::invalid_argument, "a part takes " + std::to_string(rows.bytes) +
                                               " bytes; the slot has " + std::to_string(to.size())};
    device_buffer<Space> gathered;
    ZARRPOINT_TRY(source, packed_on_device(from, rows, gathered));
    if (is_scattered(source.rows) && rows.cover <= to.size() && rows.cover / 8 <= rows.bytes) {
      ZARRPOINT_CHECK(
          from.space.copy_to_host(to.data(), source.first, row_block{.width = rows.cover}));
      return host_view{to.data() - rows.low, from.type, from.shape, from.strides, {}, {}};
    }
    ZARRPOINT_CHECK(source.rows.for_each_copy([&](index_t device, index_t host) {
      return from.space.copy_to_host(to.data() + host, source.first + device, source.rows.rows);
    }));
    return out;
  }

 private:
  /// A block on its way through a slot.
  struct block_under_way {
    typename staging_ring<Space>::slot slot;
    typename Space::event copied{};
    std::byte* to = nullptr;
    row_block rows;
  };

  result<void> arrive(block_under_way& block) const {
    if (block.slot.empty()) return {};
    ZARRPOINT_CHECK(from_.space.wait(block.copied));
    const std::byte* from = block.slot.bytes().data();
    for (std::size_t i = 0; i < block.rows.count; ++i)
      std::memcpy(block.to + i * block.rows.host_pitch, from + i * block.rows.width,
                  block.rows.width);
    block.slot.release(block.copied);
    return {};
  }

  /// All of it to the host: by way of slots where some are free, else straight, which is slower but
  /// cannot wait for callers that wait for us.
  result<void> stream(const detail::packed_source& source, mutable_bytes to) {
    stream_guard<Space> guard(from_.space);
    block_under_way before;
    ZARRPOINT_CHECK(source.for_each_block(
        ring_->slot_bytes(),
        [&](const std::byte* first, std::size_t at, row_block rows) -> result<void> {
          auto slot = ring_->try_acquire();
          if (!slot && !before.slot.empty()) {
            ZARRPOINT_CHECK(arrive(before));
            slot = ring_->try_acquire();
          }
          if (!slot) return from_.space.copy_to_host(to.data() + at, first, rows);
          slot->used_by(from_.space);
          row_block packed = rows;
          packed.host_pitch = rows.width;
          ZARRPOINT_CHECK(from_.space.copy_to_host(slot->bytes().data(), first, packed));
          ZARRPOINT_TRY(copied, from_.space.record());
          ZARRPOINT_CHECK(arrive(before));
          before = {std::move(*slot), copied, to.data() + at, rows};
          return {};
        }));
    ZARRPOINT_CHECK(arrive(before));
    return guard.finish();
  }

  result<typename Space::event> ask_for_copy(const packed_rows& rows, [[maybe_unused]] bool packs) {
    if constexpr (kernel_space<Space>) {
      if (packs) {
        ZARRPOINT_CHECK(gather(from_, rows, copy_.data()));
        return from_.space.record();
      }
    }
    ZARRPOINT_CHECK(from_.space.copy_within(copy_.data(), from_.data + rows.low, rows.cover));
    return from_.space.record();
  }

  static constexpr std::size_t joint_alignment = 64;
  static inline char tag = 0;  // its address stands for the type; a constant might share it

  tensor_view<Space> from_;
  const tensor_spec spec_;
  const std::shared_ptr<staging_ring<Space>> ring_;
  device_buffer<Space> copy_;
  typename Space::event copied_{};
  bool copying_ = false;  // and `copied_` has not been waited for
};

}}}  // namespace zarrpoint::v0::detail
