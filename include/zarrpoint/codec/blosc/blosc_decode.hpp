// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/codec/kit/shuffle.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Decodes the blocks of one frame. `Streams::decode(format, from, to, scratch)` decodes a stream.
template <class Streams>
class blosc_reader {
 public:
  blosc_reader(const blosc_header& header, bytes_view frame, codec_workspace& scratch)
      : header_(header), frame_(frame), scratch_(&scratch) {}

  /// All of the frame into `to`, which has room for it.
  result<void> run(mutable_bytes to) {
    result<void> status = blocks(to);
    scratch_->template state<blosc_memory>().trim();
    return status;
  }

 private:
  result<void> blocks(mutable_bytes to) {
    for (std::size_t i = 0; i < header_.block_count(); ++i) {
      const mutable_bytes into = to.subspan(i * header_.block_size, header_.block_bytes(i));
      result<void> status = block(i, into);
      if (!status) return std::move(status).failure().at("block " + std::to_string(i));
    }
    return {};
  }

  result<void> block(std::size_t i, mutable_bytes into) {
    const std::byte* const starts = frame_.data() + blosc_header::size;
    const std::size_t start = load_le<std::uint32_t>(starts + blosc_header::length_size * i);
    if (start < header_.body() || start > frame_.size())
      return error{errc::corrupt, "begins outside of the frame"};
    bytes_view rest = frame_.subspan(start);
    const std::size_t streams = header_.streams(into.size());
    if (into.size() % streams != 0)
      return error{errc::corrupt, "its size is not a multiple of its number of streams"};
    const bool by_bytes = header_.has(blosc_header::byte_shuffle) && header_.type_size > 1;
    const bool by_bits = header_.has(blosc_header::bit_shuffle);
    if (!by_bytes && !by_bits) return join(rest, streams, into);
    ZARRPOINT_TRY(memory, scratch_->template state<blosc_memory>().get(into.size()));
    if (by_bytes && header_.type_size <= max_planes && into.size() % header_.type_size == 0)
      return by_planes(rest, streams, {into, memory});
    ZARRPOINT_CHECK(join(rest, streams, memory));
    if (by_bytes) {
      byte_unshuffle(into, memory, header_.type_size);
    } else {
      bit_unshuffle(into, memory, header_.type_size);
    }
    return {};
  }

  /// The streams of a block, one behind the other.
  result<void> join(bytes_view rest, std::size_t streams, mutable_bytes into) {
    const std::size_t piece = into.size() / streams;
    for (std::size_t j = 0; j < streams; ++j) {
      const mutable_bytes part = into.subspan(j * piece, piece);
      ZARRPOINT_TRY(made, stream(rest, part));
      if (made != part.data()) std::copy_n(made, part.size(), part.data());
    }
    return {};
  }

  struct block_memory {
    mutable_bytes into;
    mutable_bytes planes;
  };

  /// Elements straight from their byte planes, of which the raw ones stay where they are.
  result<void> by_planes(bytes_view rest, std::size_t streams, block_memory memory) {
    const std::byte* planes[max_planes];
    const std::size_t count = memory.into.size() / header_.type_size;
    const std::size_t piece = memory.into.size() / streams;
    for (std::size_t j = 0; j < streams; ++j) {
      ZARRPOINT_TRY(made, stream(rest, memory.planes.subspan(j * piece, piece)));
      planes[j] = made;
    }
    if (streams == 1) {
      for (std::size_t j = 1; j < header_.type_size; ++j) planes[j] = planes[0] + j * count;
    }
    unshuffle_planes(memory.into.data(), planes, header_.type_size, count);
    return {};
  }

  /// The stream at the start of `rest`, which moves on past it; returns where its bytes are: in
  /// the frame when they are raw, else in `to`.
  result<const std::byte*> stream(bytes_view& rest, mutable_bytes to) {
    if (rest.size() < blosc_header::length_size)
      return error{errc::corrupt, "a stream is cut short"};
    const std::size_t length = load_le<std::uint32_t>(rest.data());
    rest = rest.subspan(blosc_header::length_size);
    if (length > rest.size()) return error{errc::corrupt, "a stream is cut short"};
    if (length > streams_left_) return error{errc::corrupt, "its streams overlap"};
    streams_left_ -= length;
    const bytes_view body = rest.first(length);
    rest = rest.subspan(length);
    if (length == to.size()) return body.data();
    ZARRPOINT_TRY(made, Streams::decode(header_.format, body, to, *scratch_).or_else(as_corrupt));
    if (made != to.size())
      return error{errc::corrupt, "a stream of " + std::to_string(made) + " bytes where " +
                                      std::to_string(to.size()) + " are expected"};
    return static_cast<const std::byte*>(to.data());
  }

  /// More than the size of a block is a fault of the frame, not of the caller's room.
  static result<std::size_t> as_corrupt(error failure) {
    if (failure.code == errc::out_of_range) failure.code = errc::corrupt;
    return failure;
  }

  blosc_header header_;
  bytes_view frame_;
  codec_workspace* scratch_;
  std::size_t streams_left_ = frame_.size();  ///< bytes that the next ones may have
};

}}}  // namespace zarrpoint::v0::detail
