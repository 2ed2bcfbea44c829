// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/blosc_encode.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What kernels write of frames, and what the host writes between.
struct encode_work {
  /// Bytes of a frame that the host writes: those of `bytes` in turn.
  struct text {
    std::size_t at = 0;  ///< from the start of all frames
    std::size_t size = 0;
  };
  std::vector<device_symbols> symbols{};  ///< `to`: from the start of all frames
  std::vector<text> texts{};
  std::vector<std::byte> bytes{};

  /// Writes the texts between what was made by kernels.
  void complete(mutable_bytes frames) const;
};

/// What became of the elements of one frame.
struct planned_frame {
  std::size_t size = 0;
  /// The bytes of an element, if all are the same.
  std::optional<std::array<std::byte, device_planes::most>> repeated{};
};

/// How a device encodes elements as a Blosc frame of zstd, whose blocks are Huffman codes without
/// matches. It is the frame that `blosc_codec` makes of bytes that do not repeat, but for the
/// codes: here all bytes are counted, there a sample.
class blosc_encode_plan {
 public:
  /// For `bytes` of elements; nothing where kernels cannot make such frames. They do for zstd above
  /// level 0, elements of 1 to 8 bytes, sorted by bytes if they have more than one.
  static std::optional<blosc_encode_plan> of(const blosc_options& how, std::size_t bytes);

  /// The bytes of all counts of a frame.
  std::size_t counts_bytes() const;
  /// Adds the work of the kernel that counts; both are addresses on the device.
  void count(std::uint64_t elements, std::uint64_t counts, std::vector<device_symbols>& out) const;
  /// Adds that of the kernel that encodes, for a frame that begins `at` bytes from the start of
  /// all. False, and nothing is added, where the counts are none of so many bytes.
  std::optional<planned_frame> plan(bytes_view counts, std::uint64_t elements, std::size_t at,
                                    encode_work& out) const;

 private:
  blosc_header header_;
  std::size_t width_ = 1;  ///< planes of a block
};

}}}  // namespace zarrpoint::v0::detail
