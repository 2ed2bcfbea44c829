// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements that lie on a device, and the frames of blosc that its kernels make of them.

#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/encode_plan.hpp>
#include <zarrpoint/memory/device/device_buffer.hpp>

#include "gpu_harness.hpp"

namespace bench {

/// Chunks of 512 KiB, with room on the device for what becomes of them.
class elements_on_device {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{512} << 10;

  elements_on_device(const device_space& space, zp::bytes_view elements, std::size_t type_size)
      : space_(space),
        elements_(elements.first(elements.size() / chunk_bytes * chunk_bytes)),
        codec_(codec_of(type_size)),
        plan_(zp::detail::blosc_encode_plan::of(codec_.options(), chunk_bytes).value()) {
    from_ = allocate(elements_.size());
    space.copy_from_host(from_.data(), elements_.data(), {.width = elements_.size()}).value();
    const std::size_t each = plan_.counts_bytes();
    counts_ = allocate(chunks() * each);
    std::vector<zp::device_symbols> table;
    for (std::size_t i = 0; i < chunks(); ++i)
      plan_.count(address(from_) + i * chunk_bytes, address(counts_) + i * each, table);
    counting_ = upload(table);
    count_entries_ = table.size();
    count();
    std::vector<std::byte> counted(counts_.size());
    space.copy_to_host(counted.data(), counts_.data(), {.width = counted.size()}).value();
    zp::detail::wait_for_stream(space).value();
    std::size_t at = 16;
    for (std::size_t i = 0; i < chunks(); ++i) {
      const auto made = plan_.plan(zp::bytes_view(counted).subspan(i * each, each),
                                   address(from_) + i * chunk_bytes, at, work_);
      require(made.has_value(), "the device counts otherwise");
      frames_.push_back({at, made->size});
      at = (at + made->size + 15) / 16 * 16;
    }
    to_ = allocate(at);
    for (zp::device_symbols& one : work_.symbols) one.to += address(to_);
    encoding_ = upload(work_.symbols);
    zp::detail::wait_for_stream(space).value();
  }

  std::size_t chunks() const { return elements_.size() / chunk_bytes; }
  std::size_t bytes() const { return elements_.size(); }
  std::size_t stored() const { return to_.size(); }

  void count() {
    space_
        .count_symbols(reinterpret_cast<const zp::device_symbols*>(counting_.data()),
                       count_entries_)
        .value();
  }
  void encode() {
    space_.fill(to_.data(), std::byte{}, to_.size()).value();
    space_
        .encode_symbols(reinterpret_cast<const zp::device_symbols*>(encoding_.data()),
                        work_.symbols.size(), to_.data())
        .value();
  }
  void copy(pinned_blocks& through) const { copy_to_host(through, to_.data(), to_.size()); }

  /// Ends the program where the processor decodes other elements.
  void check() {
    encode();
    std::vector<std::byte> frames(to_.size());
    space_.copy_to_host(frames.data(), to_.data(), {.width = frames.size()}).value();
    zp::detail::wait_for_stream(space_).value();
    require(frames[0] == std::byte{}, "the device found other elements than it had counted");
    work_.complete(frames);
    zp::codec_workspace scratch;
    std::vector<std::byte> seen(chunk_bytes);
    for (std::size_t i = 0; i < chunks(); ++i) {
      const auto [at, size] = frames_[i];
      codec_.decode(zp::bytes_view(frames).subspan(at, size), seen, scratch).value();
      require(std::memcmp(seen.data(), elements_.data() + i * chunk_bytes, chunk_bytes) == 0,
              "the device encodes otherwise");
    }
  }

 private:
  using buffer = zp::device_buffer<device_space>;

  static zp::blosc_codec codec_of(std::size_t type_size) {
    zp::blosc_codec out;
    out.level = 1;
    out.shuffle = type_size == 1 ? zp::blosc_shuffle::none : zp::blosc_shuffle::bytes;
    out.type_size = type_size;
    return out;
  }
  buffer allocate(std::size_t bytes) const { return buffer::lasting(space_, bytes).value(); }
  static std::uint64_t address(const buffer& of) {
    return reinterpret_cast<std::uintptr_t>(of.data());
  }
  buffer upload(const std::vector<zp::device_symbols>& table) const {
    const std::size_t bytes = table.size() * sizeof(zp::device_symbols);
    buffer out = allocate(std::max<std::size_t>(bytes, 1));
    space_
        .copy_from_host(out.data(), reinterpret_cast<const std::byte*>(table.data()),
                        {.width = bytes})
        .value();
    zp::detail::wait_for_stream(space_).value();  // the table may go
    return out;
  }

  device_space space_;
  zp::bytes_view elements_;
  zp::blosc_codec codec_;
  zp::detail::blosc_encode_plan plan_;
  buffer from_, counts_, counting_, encoding_, to_;
  std::size_t count_entries_ = 0;
  zp::detail::encode_work work_;
  std::vector<std::pair<std::size_t, std::size_t>> frames_;  ///< where each is, and its size
};

}  // namespace bench
