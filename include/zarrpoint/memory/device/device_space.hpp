// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/memory/memory_space.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace zarrpoint { inline namespace v0 {

/// Rows of bytes on a device and on the host: `count` rows of `width` bytes, each beginning a pitch
/// after the one before. One run of bytes is one row. A pitch is at least the width.
struct row_block {
  std::size_t width = 0;
  std::size_t count = 1;
  std::size_t device_pitch = 0;  ///< unused for one row, as `host_pitch` is
  std::size_t host_pitch = 0;
};

/// Elements that move from one place of a device to another: any strides, in bytes, of either sign.
/// The elements of `to` are distinct and do not overlap those of `from`.
struct strided_move {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t element_size = 0;
  dims shape;
  dims to_strides;
  dims from_strides;
};

/// One of many runs of bytes that a kernel moves within a device. Its layout is what kernels read
/// from device memory.
struct device_segment {
  std::uint64_t to = 0;    ///< address on the device
  std::uint64_t from = 0;  ///< address on the device
  std::uint64_t bytes = 0;
};

/// The literals of a zstd block (RFC 8878, 3.1.1.3.1) whose bytes lie on a device. The one that
/// makes it has checked that streams lie in that memory and that the codes are complete. Its layout
/// is what kernels read from device memory, aligned to 8.
struct device_literals {
  enum kind_of : std::uint32_t { stored, repeated, one_stream, four_streams };

  std::uint64_t to = 0;     ///< address on the device
  std::uint64_t from = 0;   ///< address on the device: bytes, a byte, or streams one after another
  std::uint32_t bytes = 0;  ///< that are made; of four streams each makes a fourth, rounded up
  std::uint32_t kind = stored;
  std::array<std::uint32_t, 4> sizes{};     ///< of the streams
  std::array<std::uint8_t, 128> lengths{};  ///< of codes: four bits each, the even symbol's lower
};

/// Elements of which each byte comes from a plane of its own, on a device. Its layout is what
/// kernels read from device memory, aligned to 8.
struct device_planes {
  static constexpr std::size_t most = 8;

  std::uint64_t to = 0;                    ///< address on the device
  std::uint64_t count = 0;                 ///< elements, and bytes of a plane
  std::uint64_t width = 0;                 ///< planes, and bytes of an element; up to `most`
  std::array<std::uint64_t, most> from{};  ///< addresses on the device
};

/// Bytes of a plane of elements that lie on a device, and what becomes of them: the literals of a
/// zstd block. A kernel counts them first, then another encodes them. Its layout is what kernels
/// read from device memory, aligned to 8.
struct device_symbols {
  /// Bytes of the counts: how often each of the 256 bytes occurs in each of four streams, as
  /// uint16. A single stream is the first of them; the others are 0.
  static constexpr std::size_t counts_bytes = std::size_t{4} * 256 * sizeof(std::uint16_t);
  static constexpr std::uint32_t most = 128 << 10;  ///< bytes, unless they stay as they are

  std::uint64_t to = 0;     ///< address on the device: of counts, of bytes, or of streams in a row
  std::uint64_t from = 0;   ///< address on the device, of the first byte
  std::uint32_t bytes = 0;  ///< of four streams each has a fourth, rounded up
  std::uint32_t step = 1;   ///< from a byte to the next one
  std::uint32_t kind = device_literals::stored;  ///< of `device_literals::kind_of`; not `repeated`
  std::array<std::uint32_t, 4> sizes{};          ///< of the streams, in bytes
  std::array<std::uint8_t, 128> lengths{};  ///< of codes: four bits each, the even symbol's lower
};

/// Bytes on a device whose CRC-32C a kernel compares. Its layout is what kernels read from device
/// memory, aligned to 8.
struct device_checksum {
  std::uint64_t from = 0;   ///< address on the device, aligned to 16
  std::uint64_t mark = 0;   ///< what tells that the checksum is right
  std::uint32_t bytes = 0;  ///< at least one
  std::uint32_t crc32c = 0;
};

/// `count` elements, one after another on a device, that change their type on the way. What the
/// conversion means is in core/types/convert.hpp.
struct device_cast {
  std::byte* to = nullptr;
  dtype to_type;
  const std::byte* from = nullptr;
  dtype from_type;
  std::size_t count = 0;
};

/// A device's memory, seen through one of its streams. A model is a small copyable handle of both;
/// copies of it may be used by any number of threads.
///
/// What is asked for runs on the stream, in order, after the call returned. So memory on both sides
/// must stay until an event recorded afterwards has been waited for. Streams know no order among
/// each other but by `follow`. Handles are equal when they are of one stream. Host memory that is
/// not pinned is copied just as well, but slower, and the call may wait. Every function may return
/// `device` with the runtime's words; an error of an earlier operation may be told by any later
/// one.
///
/// - `device()`: its number, for messages and to tell devices apart;
/// - `allocate`, `deallocate`: memory that the stream's later work may use; `resource_limit` when
///   there is none left; freed memory may be in use by the stream's earlier work;
/// - `record`: an event that has happened when all that was asked for so far is done. `wait` (see
///   `memory_space`) blocks the caller until then, `happened` asks. `follow` makes the stream's
///   later work wait for an event of any stream, without blocking the caller;
/// - `drain`: blocks until all that the device was asked for is done, by any stream, one that is
///   destroyed included: for when no event can be had;
/// - `check`: whether these bytes belong to this device: `invalid_argument` if not;
/// - `pin`: registers host memory, which has been touched before, for fast copies; `unpin` undoes
///   it when no copy uses it any more.
template <class S>
concept device_space =
    memory_space<S> && !S::host_accessible && std::equality_comparable<S> &&
    requires(const S& space, const typename S::event& event, std::byte* to, const std::byte* from,
             std::size_t bytes, const row_block& rows, mutable_bytes host) {
  { space.device() } -> std::same_as<int>;
  { space.allocate(bytes) } -> std::same_as<result<std::byte*>>;
  { space.deallocate(to, bytes) }
  noexcept;
  { space.copy_to_host(to, from, rows) } -> std::same_as<result<void>>;
  { space.copy_from_host(to, from, rows) } -> std::same_as<result<void>>;
  { space.copy_within(to, from, bytes) } -> std::same_as<result<void>>;
  { space.fill(to, std::byte{}, bytes) } -> std::same_as<result<void>>;
  { space.record() } -> std::same_as<result<typename S::event>>;
  { space.happened(event) } -> std::same_as<result<bool>>;
  { space.follow(event) } -> std::same_as<result<void>>;
  { space.drain() }
  noexcept;
  { space.check(from, bytes) } -> std::same_as<result<void>>;
  { space.pin(host) } -> std::same_as<result<void>>;
  { space.unpin(host) }
  noexcept;
};

/// A device that can compute, when `has_kernels()` says so; else the functions return
/// `unsupported`, and elements are rearranged on the host. All addresses are the device's.
///
/// - `move`: strided gather and scatter; `scatter`: many runs by one kernel, whose table lies on
///   the device;
/// - `cast`, `swap_bytes` (in place), `unshuffle` (byte planes of `count` elements of `size` bytes
///   to elements; `to` and `from` do not overlap);
/// - `crc32c`: of `bytes` bytes, the 4 bytes of the checksum to `to`;
/// - `compare_crc32c`: all of a table on the device. The marks of those that have the checksum that
///   they should are added to the 8 bytes at `marks`;
/// - `decode_literals`: all of a table on the device. Where a stream does not end with its last
///   symbol, the 4 bytes at `failed` are no longer 0, and what was made is unspecified;
/// - `join_planes`: all of a table on the device, of which none makes more than `most` bytes;
/// - `count_symbols`: all of a table on the device, of which none is `stored`;
/// - `encode_symbols`: the same, into zeros. Where a stream does not have the size that the table
///   says, the 4 bytes at `failed` are no longer 0, and nothing of its entry is written.
template <class S>
concept kernel_space = device_space<S> &&
    requires(const S& space, std::byte* to, const std::byte* from, std::size_t size,
             std::size_t count, const strided_move& elements, const device_segment* table,
             const device_cast& conversion, const device_literals* literals,
             const device_planes* planes, const device_symbols* symbols,
             const device_checksum* checksums) {
  { space.has_kernels() } -> std::same_as<bool>;
  { space.move(elements) } -> std::same_as<result<void>>;
  { space.scatter(table, count) } -> std::same_as<result<void>>;
  { space.cast(conversion) } -> std::same_as<result<void>>;
  { space.swap_bytes(to, size, count) } -> std::same_as<result<void>>;
  { space.unshuffle(to, from, size, count) } -> std::same_as<result<void>>;
  { space.crc32c(to, from, count) } -> std::same_as<result<void>>;
  { space.compare_crc32c(checksums, count, to) } -> std::same_as<result<void>>;
  { space.decode_literals(literals, count, to) } -> std::same_as<result<void>>;
  { space.join_planes(planes, count, size) } -> std::same_as<result<void>>;
  { space.count_symbols(symbols, count) } -> std::same_as<result<void>>;
  { space.encode_symbols(symbols, count, to) } -> std::same_as<result<void>>;
};

/// A device that keeps what operations give back for the next step of any, while the last of them
/// runs. Each holds a `reserve()`. `allocate_scratch` is `allocate` for what it frees before its
/// end.
template <class S>
concept reserving_space = device_space<S> && requires(const S& space, std::size_t bytes) {
  { space.reserve() } -> std::same_as<std::shared_ptr<void>>;
  { space.allocate_scratch(bytes) } -> std::same_as<result<std::byte*>>;
};

/// A device that has streams of its own, by which parts of an operation overlap: `lane(i)` sees it
/// through one of its `lanes`. They are there while somebody holds its `reserve()`, where it has
/// one. Errors: those of making a stream.
template <class S>
concept forking_space = device_space<S> && requires(const S& space, std::size_t i) {
  { S::lanes } -> std::convertible_to<std::size_t>;
  { space.lane(i) } -> std::same_as<result<S>>;
};

namespace detail {

/// What an operation holds as long as it runs; null where there is nothing to hold.
template <device_space S>
std::shared_ptr<void> reserve_of([[maybe_unused]] const S& space) {
  if constexpr (reserving_space<S>) {
    return space.reserve();
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// Whether kernels may be asked for.
template <device_space S>
bool has_kernels([[maybe_unused]] const S& space) {
  if constexpr (kernel_space<S>) {
    return space.has_kernels();
  } else {
    return false;
  }
}

namespace detail {

/// Waits until all that the stream was asked for so far is done. Errors: those of the space, after
/// which nothing of it is under way either. What a stream was asked for goes on when it is
/// destroyed, so that without an event the whole device is waited for.
template <device_space Space>
result<void> wait_for_stream(const Space& space) {
  auto recorded = space.record();
  if (!recorded) {
    space.drain();
    return std::move(recorded).failure();
  }
  return space.wait(*recorded);
}

/// Stands between copies that a stream was asked for and the memory they use: the memory is
/// declared before it, so that it outlives them on every way out.
template <device_space Space>
class stream_guard {
 public:
  explicit stream_guard(const Space& space) : space_(space) {}
  stream_guard(const stream_guard&) = delete;
  stream_guard& operator=(const stream_guard&) = delete;
  ~stream_guard() {
    if (!finished_) static_cast<void>(wait_for_stream(space_));
  }

  /// Waits now; the destructor then has nothing to do. Errors: those of the space.
  result<void> finish() {
    finished_ = true;
    return wait_for_stream(space_);
  }

 private:
  Space space_;
  bool finished_ = false;
};

}  // namespace detail

}}  // namespace zarrpoint::v0
