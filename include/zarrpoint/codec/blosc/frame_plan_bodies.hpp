// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/codec/blosc/frame_plan.hpp>
#include <zarrpoint/codec/blosc/literals_reader.hpp>
#include <zarrpoint/core/config.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ---------------------------------------------------------------------------------- frame_plan.hpp

/// Notes the literals of one zstd frame, one after another.
class literals_plan {
 public:
  literals_plan(bytes_view frame, std::uint64_t address, std::uint64_t to, frame_work& out)
      : first_(frame.data()), address_(address), to_(to), out_(&out) {}

  bool stored(bytes_view from) {
    return from.empty() || add(made_of(device_literals::stored, from, from.size()));
  }
  bool repeated(bytes_view one, std::size_t size) {
    return size == 0 || add(made_of(device_literals::repeated, one, size));
  }
  void code(const huffman_weights& weights) {
    lengths_ = {};
    for (std::size_t i = 0; i < weights.count; ++i) {
      if (weights.of[i] == 0) continue;
      const unsigned length = weights.bits + 1 - weights.of[i];
      lengths_[i / 2] = static_cast<std::uint8_t>(lengths_[i / 2] | length << i % 2 * 4);
    }
  }
  template <std::size_t N>
  bool streams(const std::array<bytes_view, N>& parts, std::size_t size) {
    const std::size_t each = (size + N - 1) / N;
    if (size == 0 || each * (N - 1) >= size) return false;
    device_literals made = made_of(
        N == 1 ? device_literals::one_stream : device_literals::four_streams, parts[0], size);
    for (std::size_t i = 0; i < N; ++i) {
      if (parts[i].empty()) return false;
      made.sizes[i] = static_cast<std::uint32_t>(parts[i].size());
    }
    made.lengths = lengths_;
    return add(made);
  }

 private:
  device_literals made_of(device_literals::kind_of kind, bytes_view from, std::size_t size) const {
    device_literals made;
    made.to = to_;
    made.from = address_ + static_cast<std::uint64_t>(from.data() - first_);
    made.bytes = static_cast<std::uint32_t>(size);
    made.kind = kind;
    return made;
  }
  bool add(const device_literals& made) {
    to_ += made.bytes;
    return out_->add(out_->literals, made);
  }

  const std::byte* first_;
  std::uint64_t address_;
  std::uint64_t to_;
  frame_work* out_;
  std::array<std::uint8_t, 128> lengths_{};
};

/// Notes the streams and planes of one frame.
class blosc_frame_plan {
 public:
  blosc_frame_plan(const blosc_header& header, bytes_view frame, const frame_place& at,
                   frame_work& out)
      : header_(header), frame_(frame), at_(at), out_(&out), streams_left_(frame.size()) {
    if (header.has(blosc_header::byte_shuffle)) width_ = header.type_size;
  }

  bool run() {
    if (header_.has(blosc_header::bit_shuffle) || width_ > device_planes::most) return false;
    if (header_.has(blosc_header::stored)) {
      const bytes_view all = frame_.subspan(blosc_header::size);
      return all.size() == header_.bytes &&
             literals_plan(frame_, at_.frame, at_.to, *out_).stored(all);
    }
    if (header_.format != blosc_format::zstd) return false;
    for (std::size_t i = 0; i < header_.block_count(); ++i) {
      if (!block(i)) return false;
    }
    return true;
  }

 private:
  bool block(std::size_t i) {
    const std::size_t begin = i * header_.block_size;
    const std::size_t size = header_.block_bytes(i);
    const std::size_t streams = header_.streams(size);
    if (size % streams != 0 || size % width_ != 0 ||
        (streams != 1 && width_ > 1 && streams != width_))
      return false;
    std::size_t offset =
        load_le<std::uint32_t>(frame_.data() + blosc_header::size + blosc_header::length_size * i);
    if (offset < header_.body() || offset > frame_.size()) return false;
    device_planes planes{at_.to + begin, size / width_, width_, {}};
    const std::size_t piece = size / streams;
    const std::uint64_t made = (width_ > 1 ? at_.room : at_.to) + begin;
    for (std::size_t j = 0; j < streams; ++j) {
      if (frame_.size() - offset < blosc_header::length_size) return false;
      const std::size_t length = load_le<std::uint32_t>(frame_.data() + offset);
      offset += blosc_header::length_size;
      // All of them fit into the frame: blocks of one stream again and again would be a bomb.
      if (length > frame_.size() - offset || length > streams_left_) return false;
      streams_left_ -= length;
      const bytes_view stream = frame_.subspan(offset, length);
      if (width_ > 1) planes.from[j] = made + j * piece;
      literals_plan parts(frame_, at_.frame, made + j * piece, *out_);
      if (length != piece) {
        if (!zstd_literals_reader(stream, piece, parts).run()) return false;
      } else if (width_ > 1) {
        planes.from[j] = at_.frame + offset;  // a plane that needs no decoding
      } else if (!parts.stored(stream)) {
        return false;
      }
      offset += length;
    }
    if (width_ == 1) return true;
    for (std::size_t p = streams; p < width_; ++p)
      planes.from[p] = planes.from[0] + p * planes.count;
    out_->most_bytes = std::max(out_->most_bytes, size);
    return out_->add(out_->planes, planes);
  }

  blosc_header header_;
  bytes_view frame_;
  const frame_place& at_;
  frame_work* out_;
  std::size_t width_ = 1;     ///< planes of a block
  std::size_t streams_left_;  ///< bytes that the next streams may have
};

ZARRPOINT_INLINE bool plan_blosc_frame(bytes_view frame, const frame_place& at, frame_work& out) {
  const result<blosc_header> header = blosc_header::parse(frame);
  if (!header || header->bytes != at.bytes) return false;
  const std::size_t literals = out.literals.size();
  const std::size_t planes = out.planes.size();
  const std::size_t most_bytes = out.most_bytes;
  const std::size_t room_left = out.room_left;
  const std::size_t checksums = out.checksums.size();
  const bool compared =
      !at.crc32c ||
      out.add(out.checksums, {at.frame, 0, static_cast<std::uint32_t>(frame.size()), *at.crc32c});
  if (compared && blosc_frame_plan(*header, frame, at, out).run()) return true;
  out.checksums.resize(checksums);
  out.literals.resize(literals);
  out.planes.resize(planes);
  out.most_bytes = most_bytes;
  out.room_left = room_left;
  return false;
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/huffman_bodies.hpp>
#endif
