// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/blosc_plane.hpp>
#include <zarrpoint/codec/blosc/encode_plan.hpp>
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/core/config.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace zarrpoint { inline namespace v0 { namespace detail {

// --------------------------------------------------------------------------------- encode_plan.hpp

ZARRPOINT_INLINE void encode_work::complete(mutable_bytes frames) const {
  const std::byte* from = bytes.data();
  for (const text& one : texts) {
    std::memcpy(frames.data() + one.at, from, one.size);
    from += one.size;
  }
}

/// A plane of a block: `bytes` of them, each `width` after the one before.
struct plane_part {
  std::size_t first = 0;  ///< from the first byte of all elements
  std::size_t bytes = 0;
};

/// Calls `f` for the planes of all blocks but a short one at the end.
template <class F>
void for_each_plane(const blosc_header& header, std::size_t width, F&& f) {
  for (std::size_t i = 0; i < header.bytes / header.block_size; ++i)
    for (std::size_t p = 0; p < width; ++p)
      f(plane_part{i * header.block_size + p, header.block_size / width});
}

ZARRPOINT_INLINE std::optional<blosc_encode_plan> blosc_encode_plan::of(const blosc_options& how,
                                                                        std::size_t bytes) {
  const bool is_sorted = how.shuffle == blosc_header::byte_shuffle;
  if (how.format != blosc_format::zstd || how.level == 0 || how.type_size == 0 ||
      how.type_size > device_planes::most || how.shuffle == blosc_header::bit_shuffle ||
      (how.type_size > 1 && !is_sorted) || bytes % how.type_size != 0 || bytes < 1024 ||
      bytes > blosc_header::max_bytes)
    return std::nullopt;
  blosc_encode_plan out;
  out.width_ = how.type_size;
  blosc_header& header = out.header_;
  header.format = how.format;
  header.flags = how.shuffle;
  header.type_size = how.type_size;
  header.bytes = bytes;
  header.block_size = blosc_block_size(how, bytes);
  const std::size_t streams = header.streams(header.block_size);
  if (header.block_size % how.type_size != 0 || streams != how.type_size) return std::nullopt;
  if (!is_sorted || streams == 1) header.flags |= blosc_header::not_split;
  // What is left at the end stays as it is: it should be little.
  if (bytes % header.block_size > bytes / 64) return std::nullopt;
  return out;
}

ZARRPOINT_INLINE std::size_t blosc_encode_plan::counts_bytes() const {
  std::size_t out = 0;
  for_each_plane(header_, width_, [&](const plane_part& plane) {
    out += (plane.bytes + device_symbols::most - 1) / device_symbols::most;
  });
  return out * device_symbols::counts_bytes;
}

/// The work of some bytes of a plane.
inline device_symbols symbols_of(const plane_part& plane, std::size_t step,
                                 std::uint64_t elements) {
  device_symbols out;
  out.from = elements + plane.first;
  out.bytes = static_cast<std::uint32_t>(plane.bytes);
  out.step = static_cast<std::uint32_t>(step);
  out.kind = plane.bytes < literals_header::by_four ? device_literals::one_stream
                                                    : device_literals::four_streams;
  return out;
}

/// Calls `f` for the parts of a plane that are the blocks of its zstd frame.
template <class F>
void for_each_block(const plane_part& plane, std::size_t step, F&& f) {
  constexpr std::size_t most = device_symbols::most;
  for (std::size_t at = 0; at < plane.bytes; at += most)
    f(plane_part{plane.first + at * step, std::min(most, plane.bytes - at)});
}

ZARRPOINT_INLINE void blosc_encode_plan::count(std::uint64_t elements, std::uint64_t counts,
                                               std::vector<device_symbols>& out) const {
  for_each_plane(header_, width_, [&](const plane_part& plane) {
    for_each_block(plane, width_, [&](const plane_part& block) {
      out.push_back(symbols_of(block, width_, elements));
      out.back().to = counts;
      counts += device_symbols::counts_bytes;
    });
  });
}

/// Lays out one frame.
class encode_layout {
 public:
  encode_layout(const blosc_header& header, std::size_t width, encode_work& out)
      : header_(header), width_(width), out_(&out) {}

  /// False where the counts are none of so many bytes.
  bool run(bytes_view counts, std::uint64_t elements, std::size_t at) {
    counts_ = counts;
    elements_ = elements;
    begin_ = at_ = at;
    const mark before = here();
    const std::size_t header_at = put_room(header_.body());
    std::size_t planes = 0;
    bool good = true;
    for_each_plane(header_, width_, [&](const plane_part& plane) {
      if (planes % width_ == 0) note_block(header_at, planes / width_);
      good = good && add_plane(plane, planes++);
    });
    if (!good) return back_to(before), false;
    if (const std::size_t rest = header_.bytes % header_.block_size; rest != 0) {
      is_repeated_ = false;  // nobody has counted them
      note_block(header_at, header_.block_count() - 1);
      put(rest, blosc_header::length_size);
      for (std::size_t p = 0; p < width_; ++p)
        copy({header_.bytes - rest + p, rest / width_}, width_);
    }
    header_.frame_size = at_ - begin_;
    if (header_.frame_size >= blosc_header::size + header_.bytes) {
      back_to(before);
      store();
    } else {
      header_.write(out_->bytes.data() + header_at);
    }
    return true;
  }

  planned_frame made() const {
    planned_frame out{header_.frame_size, {}};
    if (is_repeated_) out.repeated = repeated_;
    return out;
  }

 private:
  enum block_type : std::uint64_t { raw, repeated, coded };

  // -- What is added, and taken back.

  struct mark {
    std::size_t symbols, texts, last_text, bytes, at;
  };
  mark here() const {
    return {out_->symbols.size(), out_->texts.size(),
            out_->texts.empty() ? 0 : out_->texts.back().size, out_->bytes.size(), at_};
  }
  void back_to(const mark& before) {
    out_->symbols.resize(before.symbols);
    out_->texts.resize(before.texts);
    if (!out_->texts.empty()) out_->texts.back().size = before.last_text;
    out_->bytes.resize(before.bytes);
    at_ = before.at;
  }

  /// Bytes that the host writes, zeros at first; where they are among all of those.
  std::size_t put_room(std::size_t size) {
    const std::size_t out = out_->bytes.size();
    out_->bytes.resize(out + size);
    if (out_->texts.empty() || out_->texts.back().at + out_->texts.back().size != at_)
      out_->texts.push_back({at_, 0});
    out_->texts.back().size += size;
    at_ += size;
    return out;
  }
  std::byte* new_bytes(std::size_t size) {
    const std::size_t at = put_room(size);
    return out_->bytes.data() + at;
  }
  void put(std::uint64_t value, std::size_t size) {
    std::byte* const to = new_bytes(size);
    for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::byte>(value >> 8 * i & 255);
  }
  void head(block_type type, std::size_t size, bool is_last) {
    put((is_last ? 1U : 0U) | type << 1 | size << 3, 3);
  }
  /// Bytes that stay as they are, by several blocks of threads.
  void copy(const plane_part& plane, std::size_t step) {
    for_each_block(plane, step, [&](const plane_part& part) {
      device_symbols made = symbols_of(part, step, elements_);
      made.kind = device_literals::stored;
      made.to = at_;
      out_->symbols.push_back(made);
      at_ += part.bytes;
    });
  }
  void note_block(std::size_t header_at, std::size_t i) {
    store_le<std::uint32_t>(
        out_->bytes.data() + header_at + blosc_header::size + blosc_header::length_size * i,
        static_cast<std::uint32_t>(at_ - begin_));
  }

  /// What does not get smaller.
  void store() {
    header_.flags |= blosc_header::stored | blosc_header::not_split;
    header_.block_size = std::min(header_.bytes, blosc_header::max_block);
    header_.frame_size = blosc_header::size + header_.bytes;
    header_.write(new_bytes(blosc_header::size));
    copy({0, header_.bytes}, 1);
  }

  // -- A plane.

  static byte_counts counts_of(bytes_view stream) {
    byte_counts out;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = load_le<std::uint16_t>(stream.data() + sizeof(std::uint16_t) * i);
    return out;
  }
  static void add_to(byte_counts& sum, const byte_counts& more) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }

  /// A block of a zstd frame.
  struct literal_block {
    plane_part plane;
    std::array<byte_counts, 4> streams;
  };

  /// A plane is a stream of the Blosc frame: a zstd frame, unless that is no smaller.
  bool add_plane(const plane_part& plane, std::size_t number) {
    const mark before = here();
    constexpr std::uint64_t magic = 0xfd2fb528;
    constexpr std::uint64_t single_segment = 0xa0;  // the content size in four bytes, no window
    const std::size_t length_at = put_room(blosc_header::length_size);
    const std::size_t begin = at_;
    put(magic, 4);
    put(single_segment, 1);
    put(plane.bytes, 4);
    blocks_.clear();
    byte_counts sum{};
    bool good = true;
    for_each_block(plane, width_, [&](const plane_part& part) {
      literal_block& one = blocks_.emplace_back();
      one.plane = part;
      std::uint64_t counted = 0;
      for (byte_counts& stream : one.streams) {
        stream = counts_of(counts_);
        counts_ = counts_.subspan(device_symbols::counts_bytes / one.streams.size());
        add_to(sum, stream);
        counted = std::accumulate(stream.begin(), stream.end(), counted);
      }
      good = good && counted == part.bytes;
    });
    if (!good) return false;
    note_repeated(sum, plane.bytes, number % width_, number < width_);
    bool is_noise = entropy_of(sum) > noise_bits;
    if (!is_noise) {
      add_blocks();
      is_noise = at_ - begin >= plane.bytes;
    }
    if (is_noise) {
      back_to(before);
      put(plane.bytes, blosc_header::length_size);
      copy(plane, width_);
    } else {
      store_le<std::uint32_t>(out_->bytes.data() + length_at,
                              static_cast<std::uint32_t>(at_ - begin));
    }
    return true;
  }

  /// Whether all elements so far are the same.
  void note_repeated(const byte_counts& sum, std::size_t bytes, std::size_t number, bool is_first) {
    const auto found = std::find(sum.begin(), sum.end(), static_cast<std::uint32_t>(bytes));
    const auto symbol = static_cast<std::byte>(found - sum.begin());
    is_repeated_ = is_repeated_ && found != sum.end() && (is_first || repeated_[number] == symbol);
    repeated_[number] = symbol;
  }

  void add_blocks() {
    std::array<counted_block, counted_block::max_group> group;
    for (std::size_t first = 0; first < blocks_.size(); first += group.size()) {
      const std::size_t count = std::min(group.size(), blocks_.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        group[i].counts = {};
        for (const byte_counts& stream : blocks_[first + i].streams)
          add_to(group[i].counts, stream);
        group[i].counted = blocks_[first + i].plane.bytes;
      }
      const bool is_shared = counted_block::choose_codes(group.data(), count);
      is_described_ = false;
      for (std::size_t i = 0; i < count; ++i) {
        if (!is_shared) is_described_ = false;
        add_block(blocks_[first + i], group[i], first + i + 1 == blocks_.size());
      }
    }
  }

  void add_block(const literal_block& block, const counted_block& known, bool is_last) {
    const std::size_t bytes = block.plane.bytes;
    const auto only = std::find(known.counts.begin(), known.counts.end(), known.counted);
    if (only != known.counts.end()) {
      head(repeated, bytes, is_last);
      return put(static_cast<std::uint64_t>(only - known.counts.begin()), 1);
    }
    if (known.is_worthwhile() && add_coded(block, known.code, is_last)) return;
    head(raw, bytes, is_last);
    copy(block.plane, width_);
  }

  /// False, and nothing is added, where it would be no smaller.
  bool add_coded(const literal_block& block, const huffman_code& code, bool is_last) {
    const std::size_t bytes = block.plane.bytes;
    device_symbols made = symbols_of(block.plane, width_, elements_);
    const std::size_t streams = made.kind == device_literals::one_stream ? 1 : 4;
    std::array<std::byte, huffman_code::max_description> description;
    const std::size_t described = is_described_ ? 0 : code.describe(description);
    if (!is_described_ && described == 0) return false;
    std::size_t codes = 0;
    for (std::size_t i = 0; i < streams; ++i) {
      made.sizes[i] = static_cast<std::uint32_t>(code.bits_of(block.streams[i]) / 8 + 1);
      codes += made.sizes[i];
    }
    const std::size_t stored = described + (streams == 1 ? 0 : 6) + codes;
    const auto before = literals_header::of(is_described_ ? 3 : 2, bytes, stored);
    const std::size_t size = before.size + stored + 1;
    if (size >= bytes) return false;
    head(coded, size, is_last);
    put(before.value, before.size);
    std::byte* const to = new_bytes(described);
    std::copy_n(description.data(), described, to);
    is_described_ = true;
    for (std::size_t i = 0; i + 1 < streams; ++i) put(made.sizes[i], 2);
    made.to = at_;
    for (std::size_t i = 0; i < code.lengths.size(); ++i)
      made.lengths[i / 2] =
          static_cast<std::uint8_t>(made.lengths[i / 2] | code.lengths[i] << i % 2 * 4);
    out_->symbols.push_back(made);
    at_ += codes;
    put(0, 1);  // no sequences
    return true;
  }

  blosc_header header_;
  std::size_t width_;
  encode_work* out_;
  bytes_view counts_;                    ///< that are still to come
  std::uint64_t elements_ = 0;           ///< address on the device
  std::size_t begin_ = 0;                ///< of the frame
  std::size_t at_ = 0;                   ///< where the next bytes go
  std::vector<literal_block> blocks_{};  ///< of a plane
  bool is_described_ = false;            ///< whether a block before this one described the code
  bool is_repeated_ = true;
  std::array<std::byte, device_planes::most> repeated_{};
};

ZARRPOINT_INLINE std::optional<planned_frame> blosc_encode_plan::plan(bytes_view counts,
                                                                      std::uint64_t elements,
                                                                      std::size_t at,
                                                                      encode_work& out) const {
  if (counts.size() != counts_bytes()) return std::nullopt;
  encode_layout layout(header_, width_, out);
  if (!layout.run(counts, elements, at)) return std::nullopt;
  return layout.made();
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/blosc/blosc_bodies.hpp>
#include <zarrpoint/codec/blosc/huffman_bodies.hpp>
#endif
