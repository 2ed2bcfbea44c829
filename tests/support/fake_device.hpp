// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/devices.hpp>

#include "support/fake_device_class.hpp"

#include <span>
#include <utility>
#include <vector>

namespace zarrpoint_test {

/// A fake device through one of its streams.
struct fake_space {
  using event = fake_device::event;
  static constexpr bool host_accessible = false;
  static constexpr const char* name = "fake";

  fake_device* owner = nullptr;
  std::size_t stream = 0;

  friend bool operator==(const fake_space&, const fake_space&) = default;

  int device() const { return owner->number(); }
  zp::result<void> wait(const event& e) const {
    return e.id == 0 ? zp::result<void>{} : owner->wait(e);
  }
  zp::result<std::byte*> allocate(std::size_t bytes) const {
    return owner->allocate_on(stream, bytes);
  }
  void deallocate(std::byte* memory, std::size_t) const noexcept { owner->free(memory, stream); }
  zp::result<void> copy_to_host(std::byte* to, const std::byte* from,
                                const zp::row_block& rows) const {
    return owner->copy(stream, {const_cast<std::byte*>(from), to, rows, true});
  }
  zp::result<void> copy_from_host(std::byte* to, const std::byte* from,
                                  const zp::row_block& rows) const {
    return owner->copy(stream, {to, const_cast<std::byte*>(from), rows, false});
  }
  zp::result<void> copy_within(std::byte* to, const std::byte* from, std::size_t bytes) const {
    return owner->launch(stream, nullptr, {{to, bytes}, {from, bytes}}, [=, d = owner] {
      std::memmove(d->own(to), d->own(from), bytes);
      return zp::result<void>{};
    });
  }
  zp::result<void> fill(std::byte* to, std::byte value, std::size_t bytes) const {
    return owner->launch(stream, nullptr, {{to, bytes}}, [=, d = owner] {
      std::memset(d->own(to), static_cast<int>(value), bytes);
      return zp::result<void>{};
    });
  }
  zp::result<event> record() const { return owner->record(stream); }
  void drain() const noexcept { owner->drain(); }
  zp::result<bool> happened(const event& e) const { return owner->happened(e); }
  zp::result<void> follow(const event& e) const { return owner->follow(stream, e); }
  zp::result<void> check(const std::byte* memory, std::size_t bytes) const {
    return owner->check(memory, bytes);
  }
  zp::result<void> pin(zp::mutable_bytes host) const { return owner->pin(host); }
  void unpin(zp::mutable_bytes host) const noexcept { owner->unpin(host); }

  /// Streams of the device's own.
  static constexpr std::size_t lanes = 16;
  zp::result<fake_space> lane(std::size_t i) const {
    ZARRPOINT_TRY(own, owner->lane(i));
    return fake_space{owner, own};
  }

  bool has_kernels() const { return owner->has_kernels(); }
  zp::result<void> move(const zp::strided_move& m) const {
    const auto to = reach_of(m.to, m.shape, m.to_strides, m.element_size);
    const auto from = reach_of(m.from, m.shape, m.from_strides, m.element_size);
    return owner->launch(stream, &kernel_counts::move, {to, from}, [=, d = owner] {
      zp::strided_move own = m;
      if (to.bytes != 0) own.to = d->own(to.first) + (m.to - to.first);
      if (from.bytes != 0) own.from = d->own(from.first) + (m.from - from.first);
      run_move(own);
      return zp::result<void>{};
    });
  }
  zp::result<void> scatter(const zp::device_segment* table, std::size_t count) const {
    const auto* first = reinterpret_cast<const std::byte*>(table);
    const std::size_t bytes = count * sizeof(zp::device_segment);
    return owner->launch(stream, &kernel_counts::scatter, {{first, bytes}},
                         [=, d = owner] { return d->run_scatter(first, count); });
  }
  zp::result<void> cast(const zp::device_cast& c) const {
    const std::size_t to_bytes = c.count * c.to_type.size();
    const std::size_t from_bytes = c.count * c.from_type.size();
    return owner->launch(stream, &kernel_counts::cast, {{c.to, to_bytes}, {c.from, from_bytes}},
                         [=, d = owner] {
                           zp::device_cast own = c;
                           own.to = d->own(c.to);
                           own.from = d->own(c.from);
                           return run_cast(own);
                         });
  }
  zp::result<void> swap_bytes(std::byte* data, std::size_t size, std::size_t count) const {
    return owner->launch(stream, &kernel_counts::swap_bytes, {{data, size * count}},
                         [=, d = owner] {
                           run_swap_bytes(d->own(data), size, count);
                           return zp::result<void>{};
                         });
  }
  zp::result<void> unshuffle(std::byte* to, const std::byte* from, std::size_t size,
                             std::size_t count) const {
    const std::size_t bytes = size * count;
    return owner->launch(stream, &kernel_counts::unshuffle, {{to, bytes}, {from, bytes}},
                         [=, d = owner] {
                           run_unshuffle(d->own(to), d->own(from), size, count);
                           return zp::result<void>{};
                         });
  }
  zp::result<void> crc32c(std::byte* to, const std::byte* from, std::size_t bytes) const {
    return owner->launch(stream, &kernel_counts::crc32c, {{to, 4}, {from, bytes}}, [=, d = owner] {
      run_crc32c(d->own(to), d->own(from), bytes);
      return zp::result<void>{};
    });
  }
  zp::result<void> compare_crc32c(const zp::device_checksum* table, std::size_t count,
                                  std::byte* marks) const {
    const auto* first = reinterpret_cast<const std::byte*>(table);
    const std::size_t bytes = count * sizeof(zp::device_checksum);
    return owner->launch(stream, &kernel_counts::compare_crc32c, {{first, bytes}, {marks, 8}},
                         [=, d = owner] { return d->run_compare_crc32c(first, count, marks); });
  }
  zp::result<void> decode_literals(const zp::device_literals* table, std::size_t count,
                                   std::byte* failed) const {
    const auto* first = reinterpret_cast<const std::byte*>(table);
    const std::size_t bytes = count * sizeof(zp::device_literals);
    return owner->launch(stream, &kernel_counts::decode_literals, {{first, bytes}, {failed, 4}},
                         [=, d = owner] { return d->run_decode_literals(first, count, failed); });
  }
  zp::result<void> join_planes(const zp::device_planes* table, std::size_t count,
                               std::size_t most) const {
    const auto* first = reinterpret_cast<const std::byte*>(table);
    const std::size_t bytes = count * sizeof(zp::device_planes);
    return owner->launch(stream, &kernel_counts::join_planes, {{first, bytes}},
                         [=, d = owner] { return d->run_join_planes(first, count, most); });
  }
  zp::result<void> count_symbols(const zp::device_symbols* table, std::size_t count) const {
    const auto* first = reinterpret_cast<const std::byte*>(table);
    const std::size_t bytes = count * sizeof(zp::device_symbols);
    return owner->launch(stream, &kernel_counts::count_symbols, {{first, bytes}},
                         [=, d = owner] { return d->run_count_symbols(first, count); });
  }
  zp::result<void> encode_symbols(const zp::device_symbols* table, std::size_t count,
                                  std::byte* failed) const {
    const auto* first = reinterpret_cast<const std::byte*>(table);
    const std::size_t bytes = count * sizeof(zp::device_symbols);
    return owner->launch(stream, &kernel_counts::encode_symbols, {{first, bytes}, {failed, 4}},
                         [=, d = owner] { return d->run_encode_symbols(first, count, failed); });
  }

 private:
  static fake_device::range reach_of(const std::byte* data, const zp::dims& shape,
                                     const zp::dims& strides, std::size_t size) {
    const strided_reach reach = reach_of_strides(shape, strides, size);
    return {reach.bytes == 0 ? nullptr : data + reach.low, reach.bytes};
  }
};
static_assert(zp::kernel_space<fake_space> && zp::forking_space<fake_space>);

/// A dense tensor on a fake device, with the members that the structural handler looks for. What
/// is done to it runs on the stream of its space.
template <zp::element T>
class device_tensor {
 public:
  using value_type = T;
  using space = fake_space;

  device_tensor() = default;
  explicit device_tensor(const fake_space& where) : space_(where) {}
  device_tensor(const fake_space& where, const std::vector<std::size_t>& shape) : space_(where) {
    resize(shape);
  }
  device_tensor(device_tensor&& other) noexcept { swap(other); }
  device_tensor& operator=(device_tensor&& other) noexcept {
    device_tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~device_tensor() {
    if (space_.owner != nullptr) space_.owner->free(bytes(), space_.stream);
  }

  const std::vector<std::size_t>& shape() const { return shape_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const {
    std::size_t count = 1;
    for (const std::size_t extent : shape_) count *= extent;
    return count;
  }
  fake_space get_space() const { return space_; }
  fake_device::event ready() const { return ready_; }
  /// Whether the last load into it succeeded.
  bool loaded() const { return loaded_; }
  void mark_loaded(bool yes) { loaded_ = yes; }

  void resize(const std::vector<std::size_t>& shape) {
    space_.owner->free(bytes(), space_.stream);
    shape_ = shape;
    data_ = reinterpret_cast<T*>(space_.owner->allocate(size() * sizeof(T)));
  }

  /// Starts a copy to the device; a reader has to wait for `ready()`. The values stay where
  /// they are until then.
  void upload(std::span<const T> values) {
    const zp::bytes_view from = std::as_bytes(values);
    space_.copy_from_host(bytes(), from.data(), {.width = from.size()}).value();
    ready_ = space_.record().value();
  }
  /// What is on the device by now.
  std::vector<T> download() const {
    std::vector<T> out(size());
    space_.follow(ready_).value();
    const auto to = std::as_writable_bytes(std::span(out));
    space_.copy_to_host(to.data(), bytes(), {.width = to.size()}).value();
    space_.wait(space_.record().value()).value();
    return out;
  }

 private:
  std::byte* bytes() const { return reinterpret_cast<std::byte*>(data_); }
  void swap(device_tensor& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(data_, other.data_);
    std::swap(shape_, other.shape_);
    std::swap(ready_, other.ready_);
    std::swap(loaded_, other.loaded_);
  }

  fake_space space_;
  T* data_ = nullptr;
  std::vector<std::size_t> shape_ = {0};
  fake_device::event ready_;
  bool loaded_ = false;
};

}  // namespace zarrpoint_test
