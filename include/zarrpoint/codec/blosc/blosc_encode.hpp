// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/codec/kit/shuffle.hpp>

#include <algorithm>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How a frame is to be written.
struct blosc_options {
  blosc_format format{};
  unsigned shuffle = 0;        ///< `blosc_header::byte_shuffle`, `bit_shuffle` or neither
  std::size_t type_size = 1;   ///< 1 to 255
  std::size_t block_size = 0;  ///< 0: chosen here
  int level = 5;               ///< 0 to 9
};

/// Chooses the size of blocks. Blocks of whole elements, so that each divides into its streams;
/// what is left of the frame is a short block at the end.
std::size_t blosc_block_size(const blosc_options& how, std::size_t bytes);

/// Writes one frame. `Streams::encode(how, from, to, scratch)` writes a stream, or returns
/// `out_of_range` when it does not fit into `to`; `Streams::encodes(format)` says whether it can.
/// `Streams::is_noise(from)` is asked for zstd alone: whether `encode` would refuse a byte plane.
template <class Streams>
class blosc_writer {
 public:
  blosc_writer(const blosc_options& how, bytes_view from, codec_workspace& scratch)
      : how_(how), from_(from), scratch_(&scratch) {
    header_.format = how.format;
    header_.type_size = how.type_size;
    header_.bytes = from.size();
    header_.flags = how.shuffle;
  }

  /// Returns the bytes written. Errors: `out_of_range` when not even a stored frame fits.
  result<std::size_t> run(mutable_bytes to) {
    constexpr std::size_t worthwhile = 128;
    if (how_.level == 0 || from_.size() < worthwhile || !Streams::encodes(how_.format))
      return store(to);
    header_.block_size = blosc_block_size(how_, from_.size());
    if (!splits() || header_.streams(header_.block_size) == 1)
      header_.flags |= blosc_header::not_split;
    // What does not get smaller is stored, which is the faster to read.
    to_ = to.first(std::min(to.size(), blosc_header::size + from_.size() - 1));
    done_ = header_.body();
    if (done_ > to_.size()) return store(to);
    for (std::size_t i = 0; i < header_.block_count(); ++i) {
      store_le<std::uint32_t>(to_.data() + blosc_header::size + blosc_header::length_size * i,
                              static_cast<std::uint32_t>(done_));
      ZARRPOINT_TRY(fits, block(from_.subspan(i * header_.block_size, header_.block_bytes(i))));
      if (!fits) return store(to);
    }
    header_.frame_size = done_;
    header_.write(to.data());
    return done_;
  }

 private:
  /// Whether the parts of a block are to be streams of their own. zstd gains by it where bytes are
  /// sorted, since noise can then be left alone. The other formats have it as c-blosc does.
  bool splits() const { return how_.format != blosc_format::zstd || how_.shuffle != 0; }

  result<std::size_t> store(mutable_bytes to) {
    header_.flags = how_.shuffle | blosc_header::stored | blosc_header::not_split;
    header_.block_size = std::clamp<std::size_t>(from_.size(), 1, blosc_header::max_block);
    header_.frame_size = blosc_header::size + from_.size();
    if (header_.frame_size > to.size()) return error{errc::out_of_range, "the output does not fit"};
    header_.write(to.data());
    if (!from_.empty()) std::memcpy(to.data() + blosc_header::size, from_.data(), from_.size());
    return header_.frame_size;
  }

  /// False when the frame gets too large.
  result<bool> block(bytes_view block) {
    const std::size_t streams = header_.streams(block.size());
    if (how_.shuffle != 0) {
      ZARRPOINT_TRY(memory, scratch_->template state<blosc_memory>().get(block.size()));
      if (how_.shuffle == blosc_header::byte_shuffle && how_.format == blosc_format::zstd &&
          streams > 1)
        return planes(block, memory);
      if (how_.shuffle == blosc_header::byte_shuffle) {
        byte_shuffle(memory, block, how_.type_size);
      } else {
        bit_shuffle(memory, block, how_.type_size);
      }
      block = memory;
    }
    const std::size_t piece = block.size() / streams;
    for (std::size_t j = 0; j < streams; ++j) {
      ZARRPOINT_TRY(fits, stream(block.subspan(j * piece, piece)));
      if (!fits) return false;
    }
    return true;
  }

  /// Byte planes as streams. All but the last are made where they stand when they are raw, and so
  /// are those before them, as mantissas are: noise is then not copied.
  result<bool> planes(bytes_view block, mutable_bytes memory) {
    const std::size_t size = block.size() / how_.type_size;
    std::byte* planes[blosc_header::max_split];
    std::size_t in_place = 0;
    for (std::size_t j = 0; j < how_.type_size; ++j) {
      const std::size_t place = done_ + (j + 1) * blosc_header::length_size + j * size;
      planes[j] = memory.data() + j * size;
      if (in_place != j || j + 1 == how_.type_size || place + size > to_.size()) continue;
      planes[j] = to_.data() + place;
      ++in_place;
    }
    shuffle_planes(planes, block.data(), how_.type_size, size);
    for (std::size_t j = 0; j < how_.type_size; ++j) {
      if (j < in_place) {
        if (Streams::is_noise({planes[j], size})) {
          store_le<std::uint32_t>(to_.data() + done_, static_cast<std::uint32_t>(size));
          done_ += blosc_header::length_size + size;
          continue;
        }
        for (std::size_t k = j; k < in_place; ++k) {
          std::memcpy(memory.data() + k * size, planes[k], size);
          planes[k] = memory.data() + k * size;
        }
        in_place = 0;
      }
      ZARRPOINT_TRY(fits, stream({planes[j], size}));
      if (!fits) return false;
    }
    return true;
  }

  result<bool> stream(bytes_view from) {
    if (to_.size() - done_ < blosc_header::length_size) return false;
    std::byte* const length = to_.data() + done_;
    done_ += blosc_header::length_size;
    const mutable_bytes rest = to_.subspan(done_);
    // A coded stream of the full length would be taken for a raw one.
    const mutable_bytes room = rest.first(std::min(rest.size(), from.size() - 1));
    const result<std::size_t> written = Streams::encode(how_, from, room, *scratch_);
    std::size_t used = from.size();
    if (written) {
      used = *written;
    } else if (written.failure().code != errc::out_of_range) {
      return written.failure();
    } else {
      if (rest.size() < from.size()) return false;
      std::memcpy(rest.data(), from.data(), from.size());
    }
    store_le<std::uint32_t>(length, static_cast<std::uint32_t>(used));
    done_ += used;
    return true;
  }

  blosc_options how_;
  bytes_view from_;
  codec_workspace* scratch_;
  blosc_header header_;
  mutable_bytes to_;
  std::size_t done_ = 0;
};

}}}  // namespace zarrpoint::v0::detail
