// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The floors of compressed arrays: the same frames in the same files, decoded or encoded by two
// threads, each of which has a context of the codec's library that it keeps. No checksum is
// compared, and nothing but the time of reading, decoding, copying and writing counts: where the
// frames lie is found out before.

#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/zarr.hpp>

#include "../floor.hpp"

#include <zstd.h>

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace zp = zarrpoint;

/// An inner chunk as it is stored, without the crc32c behind it, and its first element.
struct frame {
  std::size_t offset;
  std::size_t size;
  std::size_t row;
  std::size_t column;
};

inline constexpr std::size_t element_bytes = 2;

/// An array of uint16 with two axes in one file: a shard whose index is at its end, or a chunk.
struct stored_array {
  std::string path;
  std::size_t rows;
  std::size_t columns;
  std::size_t inner_rows;
  std::size_t inner_columns;
  zp::codec_spec codec;  ///< the first after `bytes`, or that
  std::vector<frame> frames;

  std::size_t inner_bytes() const { return inner_rows * inner_columns * element_bytes; }
};

inline std::uint64_t number_at(const char* from) {
  std::uint64_t out = 0;
  std::memcpy(&out, from, sizeof out);
  return out;
}

/// The array that the document describes.
inline stored_array open_stored(const fs::path& document) {
  std::ifstream in(document);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto metadata =
      zp::parse_array_v3(zp::parse_json(std::as_bytes(std::span(text))).value()).value();
  zp::sharding_config inner{.chunk_shape = metadata.chunk_shape, .codecs = metadata.codecs};
  const bool sharded = metadata.codecs.front().name == zp::sharding_config::name;
  if (sharded)
    inner = zp::sharding_config::from_configuration(metadata.codecs.front().configuration).value();
  const auto files = chunks_of(document.parent_path());
  require(files.size() == 1 && metadata.shape.size() == 2, "an array in one file");
  const auto [path, bytes] = files.front();
  const std::size_t crc = inner.codecs.back().name == "crc32c" ? 4 : 0;
  stored_array out{path.string(),
                   static_cast<std::size_t>(metadata.shape[0]),
                   static_cast<std::size_t>(metadata.shape[1]),
                   static_cast<std::size_t>(inner.chunk_shape[0]),
                   static_cast<std::size_t>(inner.chunk_shape[1]),
                   inner.codecs[inner.codecs.size() > 1 ? 1 : 0],
                   {}};
  if (!sharded) {
    out.frames = {{0, bytes - crc, 0, 0}};
    return out;
  }
  const auto across = static_cast<std::size_t>(metadata.chunk_shape[1]) / out.inner_columns;
  const std::size_t count =
      static_cast<std::size_t>(metadata.chunk_shape[0]) / out.inner_rows * across;
  const memory all = contents(path.string());
  const char* const index = all.data + bytes - 4 - 16 * count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t offset = number_at(index + 16 * i);
    if (offset == UINT64_MAX) continue;
    out.frames.push_back({offset, number_at(index + 16 * i + 8) - crc, i / across * out.inner_rows,
                          i % across * out.inner_columns});
  }
  require(munmap(all.data, all.size) == 0, "munmap");
  return out;
}

/// Every array of a checkpoint.
inline std::vector<stored_array> stored_arrays(const std::string& checkpoint) {
  std::vector<stored_array> out;
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    if (entry.is_directory()) out.push_back(open_stored(entry.path() / "zarr.json"));
  }
  return out;
}

/// libzstd with contexts that are kept.
class zstd_frames {
 public:
  explicit zstd_frames(const zp::codec_spec& /*described*/) {}
  std::size_t decode(const char* from, std::size_t size, char* to, std::size_t bytes) {
    return ZSTD_decompressDCtx(decoder_.get(), to, bytes, from, size);
  }
  std::size_t encode(const char* from, std::size_t size, char* to, std::size_t bytes) {
    return ZSTD_compressCCtx(encoder_.get(), to, bytes, from, size, 1);
  }
  static std::size_t bound(std::size_t bytes) { return ZSTD_compressBound(bytes); }

 private:
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> decoder_{ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx};
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> encoder_{ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx};
};

/// zarrpoint's codec for blosc, called directly.
class blosc_frames {
 public:
  explicit blosc_frames(const zp::codec_spec& described)
      : codec_(zp::make_codec<zp::blosc_codec>(described.configuration).value()) {}
  std::size_t decode(const char* from, std::size_t size, char* to, std::size_t bytes) {
    return codec_
        .decode(std::as_bytes(std::span(from, size)), std::as_writable_bytes(std::span(to, bytes)),
                scratch_)
        .value();
  }
  std::size_t encode(const char* from, std::size_t size, char* to, std::size_t bytes) {
    return codec_
        .encode(std::as_bytes(std::span(from, size)), std::as_writable_bytes(std::span(to, bytes)),
                scratch_)
        .value();
  }
  static std::size_t bound(std::size_t bytes) { return bytes + 16; }

 private:
  zp::blosc_codec codec_;
  zp::codec_workspace scratch_;
};

/// What is wanted of an array: every `step`th of the rows before `end`, and some columns.
struct wanted_part {
  const stored_array* of;
  std::size_t row;
  std::size_t end;
  std::size_t step;
  std::size_t column;
  std::size_t columns;

  std::size_t bytes() const { return (end - row + step - 1) / step * columns * element_bytes; }
  std::size_t first_row(const frame& in) const {
    return in.row <= row ? row : row + (in.row - row + step - 1) / step * step;
  }
  bool touches(const frame& in) const {
    return first_row(in) < std::min(end, in.row + of->inner_rows) && in.column < column + columns &&
           column < in.column + of->inner_columns;
  }
  /// Whether all of the frame is wanted, and lies in one piece in what is.
  bool is_whole(const frame& in) const {
    return step == 1 && in.row >= row && in.row + of->inner_rows <= end && in.column == column &&
           of->inner_columns == columns;
  }
  std::size_t place(std::size_t at_row, std::size_t at_column) const {
    return ((at_row - row) / step * columns + at_column - column) * element_bytes;
  }
  void copy(const frame& in, const char* decoded, char* to) const {
    if (is_whole(in)) {
      std::memcpy(to + place(in.row, in.column), decoded, of->inner_bytes());
      return;
    }
    const std::size_t begin = std::max(column, in.column);
    const std::size_t bytes =
        (std::min(column + columns, in.column + of->inner_columns) - begin) * element_bytes;
    const std::size_t last = std::min(end, in.row + of->inner_rows);
    for (std::size_t at = first_row(in); at < last; at += step) {
      const std::size_t from = (at - in.row) * of->inner_columns + begin - in.column;
      std::memcpy(to + place(at, begin), decoded + from * element_bytes, bytes);
    }
  }
};

inline wanted_part whole(const stored_array& of) { return {&of, 0, of.rows, 1, 0, of.columns}; }

/// The parts, one behind the other.
inline std::vector<std::size_t> begins_of(const std::vector<wanted_part>& parts) {
  std::vector<std::size_t> out{0};
  for (const wanted_part& part : parts) out.push_back(out.back() + part.bytes());
  return out;
}

inline std::size_t most_inner_bytes(const std::vector<wanted_part>& parts) {
  std::size_t out = 0;
  for (const wanted_part& part : parts) out = std::max(out, part.of->inner_bytes());
  return out;
}

/// Which frames are touched: of a part, and of its array.
inline std::vector<std::pair<std::size_t, const frame*>> touched(
    const std::vector<wanted_part>& parts) {
  std::vector<std::pair<std::size_t, const frame*>> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const frame& each : parts[i].of->frames) {
      if (parts[i].touches(each)) out.emplace_back(i, &each);
    }
  }
  return out;
}

/// Decodes what is touched, in place where it lies so, and else beside it and copies.
template <class Codec>
memory read_parts(const std::vector<wanted_part>& parts) {
  const auto begins = begins_of(parts);
  const auto frames = touched(parts);
  const memory to = fresh(begins.back());
  std::vector<int> files;
  for (const wanted_part& part : parts)
    files.push_back(::open(part.of->path.c_str(), O_RDONLY | O_CLOEXEC));
  std::atomic<std::size_t> next = 0;
  run_threads(threads, [&](unsigned, std::size_t) {
    Codec codec(parts.front().of->codec);
    const std::size_t most = most_inner_bytes(parts);
    const auto stored = std::make_unique_for_overwrite<char[]>(Codec::bound(most));
    const auto beside = std::make_unique_for_overwrite<char[]>(most);
    for (std::size_t first; (first = next.fetch_add(side_by_side)) < frames.size();) {
      for (std::size_t i = first; i < std::min(frames.size(), first + side_by_side); ++i) {
        const auto [part, each] = frames[i];
        const std::size_t bytes = parts[part].of->inner_bytes();
        char* const place = to.data + begins[part];
        const bool direct = parts[part].is_whole(*each);
        char* const decoded =
            direct ? place + parts[part].place(each->row, each->column) : beside.get();
        read_all(files[part], stored.get(), each->size, each->offset);
        require(codec.decode(stored.get(), each->size, decoded, bytes) == bytes, "decode");
        if (!direct) parts[part].copy(*each, decoded, place);
      }
    }
  });
  for (const int file : files) close(file);
  return to;
}

/// The arrays whole, the largest first.
inline std::vector<wanted_part> all_of(const std::vector<stored_array>& arrays) {
  std::vector<wanted_part> out;
  for (const stored_array& each : arrays) out.push_back(whole(each));
  std::sort(out.begin(), out.end(),
            [](const wanted_part& a, const wanted_part& b) { return a.bytes() > b.bytes(); });
  return out;
}

template <class Codec>
double load_frames(const std::string& checkpoint) {
  const auto arrays = stored_arrays(checkpoint);
  const auto parts = all_of(arrays);
  return seconds_of([&] { read_parts<Codec>(parts); });
}

/// Encodes the inner chunks of an array in memory, and writes them to a file, one behind the other.
template <class Codec>
class frame_writer {
 public:
  explicit frame_writer(const std::vector<wanted_part>& parts)
      : codec_(parts.front().of->codec),
        most_(most_inner_bytes(parts)),
        encoded_(std::make_unique_for_overwrite<char[]>(Codec::bound(most_))),
        filled_(std::make_unique_for_overwrite<char[]>(most_)) {}

  void write(const wanted_part& array, const char* from, const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    require(fd >= 0, "open");
    const std::size_t bytes = array.of->inner_bytes();
    std::size_t end = 0;
    for (const frame& each : array.of->frames) {
      const char* chunk = from + array.place(each.row, each.column);
      if (!array.is_whole(each)) {  // the last one, whose rest is zeros
        const std::size_t used = array.bytes() - array.place(each.row, each.column);
        std::memcpy(filled_.get(), chunk, used);
        std::memset(filled_.get() + used, 0, bytes - used);
        chunk = filled_.get();
      }
      const std::size_t size = codec_.encode(chunk, bytes, encoded_.get(), Codec::bound(most_));
      require(size <= Codec::bound(most_), "encode");
      write_all(fd, encoded_.get(), size, end);
      end += size;
    }
    close(fd);
  }

 private:
  Codec codec_;
  std::size_t most_;
  std::unique_ptr<char[]> encoded_;
  std::unique_ptr<char[]> filled_;
};

/// The same inner chunks, which are in memory, encoded into a file for each tensor, which is of one
/// thread, since two wait for each other in one file. No index, no sync.
template <class Codec>
double save_frames(const std::string& checkpoint, const std::string& out) {
  const auto arrays = stored_arrays(checkpoint);
  const auto parts = all_of(arrays);
  const auto begins = begins_of(parts);
  const memory from = read_parts<Codec>(parts);
  fs::create_directory(out);
  return seconds_of([&] {
    std::atomic<std::size_t> next = 0;
    run_threads(threads, [&](unsigned, std::size_t) {
      frame_writer<Codec> writer(parts);
      for (std::size_t i; (i = next++) < parts.size();)
        writer.write(parts[i], from.data + begins[i], out + "/" + std::to_string(i));
    });
  });
}

}  // namespace bench
