// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Frames of blosc that lie on a device, and what its kernels make of them.

#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/frame_plan.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/memory/device/device_buffer.hpp>

#include "gpu_harness.hpp"

namespace bench {

/// Chunks of 512 KiB of elements, encoded as `blosc_codecs` does, in a device's memory.
class frames_on_device {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{512} << 10;

  frames_on_device(const device_space& space, zp::bytes_view elements, std::size_t type_size)
      : space_(space), elements_(elements) {
    const std::size_t count = elements.size() / chunk_bytes;
    std::vector<std::vector<std::byte>> frames(count);
    in_pieces(count * pinned_blocks::block_bytes, std::max(1U, std::thread::hardware_concurrency()),
              [&](unsigned, std::size_t at, std::size_t) {
                const std::size_t i = at / pinned_blocks::block_bytes;
                frames[i] = encoded(elements.subspan(i * chunk_bytes, chunk_bytes), type_size);
              });
    std::vector<std::size_t> at;
    for (const std::vector<std::byte>& one : frames) {
      at.push_back(stored_);
      stored_ += (one.size() + 4 + 15) / 16 * 16;
    }
    frames_ = allocate(stored_);
    room_ = allocate(elements.size());
    to_ = allocate(elements.size());
    failed_ = allocate(16);
    space.fill(failed_.data(), std::byte{}, 16).value();
    space.fill(to_.data(), std::byte{0xee}, elements.size()).value();
    for (std::size_t i = 0; i < count; ++i) {
      space.copy_from_host(frames_.data() + at[i], frames[i].data(), {.width = frames[i].size()})
          .value();
      require(zp::detail::plan_blosc_frame(
                  frames[i],
                  {address(frames_) + at[i], address(room_) + i * chunk_bytes,
                   address(to_) + i * chunk_bytes, chunk_bytes, zp::crc32c(frames[i])},
                  work_),
              "a frame is none for a device");
      literals_to_.push_back(work_.literals.size());
      planes_to_.push_back(work_.planes.size());
      work_.checksums.back().mark = i + 1;
    }
    literals_ = upload(work_.literals);
    planes_ = upload(work_.planes);
    checksums_ = upload(work_.checksums);
    zp::detail::wait_for_stream(space).value();
  }

  std::size_t chunks() const { return literals_to_.size(); }
  std::size_t stored() const { return stored_; }
  /// Asks `space` for some of the chunks.
  void decode(const device_space& space, std::size_t from, std::size_t count, bool join = true) {
    const std::size_t first = from == 0 ? 0 : literals_to_[from - 1];
    space
        .decode_literals(reinterpret_cast<const zp::device_literals*>(literals_.data()) + first,
                         literals_to_[from + count - 1] - first, failed_.data())
        .value();
    if (!join) return;
    const std::size_t plane = from == 0 ? 0 : planes_to_[from - 1];
    space
        .join_planes(reinterpret_cast<const zp::device_planes*>(planes_.data()) + plane,
                     planes_to_[from + count - 1] - plane, work_.most_bytes)
        .value();
  }
  /// Has it compare the checksums of some.
  void compare(const device_space& space, std::size_t from, std::size_t count) const {
    const auto* const table = reinterpret_cast<const zp::device_checksum*>(checksums_.data());
    space.compare_crc32c(table + from, count, failed_.data() + 8).value();
  }
  /// Ends the program where the device has other elements, or other checksums.
  void check() const {
    std::vector<std::byte> seen(elements_.size());
    std::byte failed[16];
    space_.fill(failed_.data() + 8, std::byte{}, 8).value();
    compare(space_, 0, chunks());
    space_.copy_to_host(seen.data(), to_.data(), {.width = seen.size()}).value();
    space_.copy_to_host(failed, failed_.data(), {.width = 16}).value();
    zp::detail::wait_for_stream(space_).value();
    require(failed[0] == std::byte{}, "the device found a stream that is none");
    require(zp::load_le<std::uint64_t>(failed + 8) == chunks() * (chunks() + 1) / 2,
            "the device found another checksum");
    const std::size_t whole = chunks() * chunk_bytes;
    require(std::memcmp(seen.data(), elements_.data(), whole) == 0, "the device decodes otherwise");
  }

 private:
  using buffer = zp::device_buffer<device_space>;

  static std::vector<std::byte> encoded(zp::bytes_view from, std::size_t type_size) {
    zp::blosc_codec codec;
    codec.level = 1;
    codec.shuffle = type_size == 1 ? zp::blosc_shuffle::none : zp::blosc_shuffle::bytes;
    codec.type_size = type_size;
    zp::codec_workspace scratch;
    std::vector<std::byte> out(static_cast<std::size_t>(codec.encoded_bound(from.size())));
    out.resize(codec.encode(from, out, scratch).value());
    return out;
  }
  buffer allocate(std::size_t bytes) const { return buffer::lasting(space_, bytes).value(); }
  static std::uint64_t address(const buffer& of) {
    return reinterpret_cast<std::uintptr_t>(of.data());
  }
  template <class T>
  buffer upload(const std::vector<T>& table) const {
    buffer out = allocate(std::max<std::size_t>(table.size(), 1) * sizeof(T));
    if (!table.empty())
      space_
          .copy_from_host(out.data(), reinterpret_cast<const std::byte*>(table.data()),
                          {.width = table.size() * sizeof(T)})
          .value();
    return out;
  }

  device_space space_;
  zp::bytes_view elements_;
  std::size_t stored_ = 0;
  buffer frames_, room_, to_, failed_, literals_, planes_, checksums_;
  zp::detail::frame_work work_;
  std::vector<std::size_t> literals_to_, planes_to_;  ///< of each chunk, the end of its part
};

}  // namespace bench
