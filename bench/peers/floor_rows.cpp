// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The floor among the libraries of rows.py: the same bytes by as many threads, with the system's
// calls and a bare codec alone, without checksums, names or metadata.
// Usage: floor_rows TASK PLACE OUT    prints the seconds

#include <zarrpoint/zarrpoint.hpp>

#include "floor_frames.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

using bench::memory;
using bench::read_all;
using bench::require;

namespace {

bench::wanted_part part_of(const bench::stored_array& of, const std::string& which) {
  bench::wanted_part wanted = bench::whole(of);
  if (which == "columns") wanted.column = wanted.columns = of.columns / 4;
  if (which == "rows") wanted.end = 2 * (wanted.row = of.rows / 4);
  if (which == "strided") wanted.step = 4;
  return wanted;
}

double zstd_part(const std::string& which, const std::string& folder) {
  const bench::stored_array of = bench::open_stored(folder + "/a/zarr.json");
  return bench::seconds_of([&] { bench::read_parts<bench::zstd_frames>({part_of(of, which)}); });
}

/// memcpy of what is selected, out of a file that is in memory.
double raw_part(const std::string& which, const std::string& folder) {
  const bench::stored_array of = bench::open_stored(folder + "/a/zarr.json");
  const bench::wanted_part wanted = part_of(of, which);
  const memory all = bench::contents(of.path);
  const auto frames = bench::touched({wanted});
  return bench::seconds_of([&] {
    const memory to = bench::fresh(wanted.bytes());
    const auto copy = [&](unsigned, std::size_t i) {
      const bench::frame& each = *frames[i].second;
      wanted.copy(each, all.data + each.offset, to.data);
    };
    bench::run_threads(frames.size(), copy, bench::side_by_side);
  });
}

/// One `pread` for each inner chunk, of a file that is open, and its decoding.
double random_chunks(const std::string& folder, bool encoded) {
  const bench::stored_array of = bench::open_stored(folder + "/a/zarr.json");
  const int fd = ::open(of.path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "open");
  bench::zstd_frames zstd(of.codec);
  std::vector<char> chunk(of.inner_bytes());
  std::vector<char> stored(bench::zstd_frames::bound(chunk.size()));
  std::uint64_t state = 1;
  constexpr int times = 2000;
  return bench::seconds_of([&] {
           for (int i = 0; i < times; ++i) {
             state = (state * 1103515245 + 12345) % 2147483648U;
             const bench::frame& at = of.frames[state % of.frames.size()];
             read_all(fd, encoded ? stored.data() : chunk.data(), at.size, at.offset);
             if (encoded)
               require(
                   zstd.decode(stored.data(), at.size, chunk.data(), chunk.size()) == chunk.size(),
                   "decode");
           }
         }) /
         times;
}

/// What extends a shard by one inner chunk and its index: space for it, and one direct write. The
/// library syncs no change unless it is told to.
double rewrite(const std::string& out) {
  constexpr std::size_t bytes = 132 << 10;
  const memory from = bench::fresh(bytes);
  std::memset(from.data, 7, from.size);
  const int fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0666);
  require(fd >= 0, "open");
  constexpr std::size_t times = 10;
  return bench::seconds_of([&] {
           for (std::size_t i = 0; i < times; ++i) {
             require(fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(i * bytes),
                               static_cast<off_t>(bytes)) == 0,
                     "fallocate");
             bench::write_all(fd, from.data, bytes, i * bytes);
           }
         }) /
         times;
}

/// Stored bytes past the page cache, by so many direct reads at a time that the disk is never idle;
/// nothing is decoded.
double load_direct(const std::string& checkpoint) {
  constexpr std::size_t piece = std::size_t{1} << 20, queue = 32;
  const auto chunks = bench::chunks_of(checkpoint);
  return bench::seconds_of([&] {
    struct part {
      int fd;
      std::size_t at, size;
      char* to;
    };
    std::vector<part> parts;
    std::vector<memory> room;
    for (const auto& [path, size] : chunks) {
      const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
      require(fd >= 0, "open, direct");
      room.push_back(bench::fresh(size + piece));
      for (std::size_t at = 0; at < size; at += piece)
        parts.push_back({fd, at, std::min(piece, size - at), room.back().data + at});
    }
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> crew;
    for (std::size_t i = 0; i < queue; ++i) {
      crew.emplace_back([&] {
        for (std::size_t at = next++; at < parts.size(); at = next++) {
          const part& one = parts[at];
          // Whole blocks, also of the last one.
          const std::size_t blocks = (one.size + 4095) / 4096 * 4096;
          require(::pread(one.fd, one.to, blocks, static_cast<off_t>(one.at)) ==
                      static_cast<ssize_t>(one.size),
                  "read, direct");
        }
      });
    }
    for (std::thread& each : crew) each.join();
    for (const part& each : parts)
      if (each.at == 0) ::close(each.fd);
  });
}

/// The bytes of the elements of a raw checkpoint.
std::size_t bytes_of(const std::string& checkpoint) {
  std::size_t out = 0;
  for (const auto& [path, size] : bench::chunks_of(checkpoint)) out += size;
  return out;
}

double load(std::string_view what, const std::string& place) {
  if (what == "blosc") return bench::load_frames<bench::blosc_frames>(place + "/blosc");
  if (what == "zstd") return bench::load_frames<bench::zstd_frames>(place + "/zstd");
  if (what == "small") return bench::load_floor(place + "/zarrpoint.small");
  const fs::path zip = place + "/zarrpoint.small.zarr.zip";
  if (what == "small_zip") return bench::load_floor({{zip, fs::file_size(zip)}});
  return bench::load_floor(place + "/zarrpoint.raw");  // raw, each
}

double save(std::string_view what, const std::string& place, const std::string& out) {
  const std::string raw = place + "/zarrpoint.raw";
  const std::string small = place + "/zarrpoint.small";
  if (what == "blosc") return bench::save_frames<bench::blosc_frames>(place + "/blosc", out);
  if (what == "zstd") return bench::save_frames<bench::zstd_frames>(place + "/zstd", out);
  if (what == "blosc_synced") return bench::save_floor(place + "/blosc", out, true);
  if (what == "zip") return bench::one_file_floor(bytes_of(raw), out);
  if (what == "small_zip") return bench::one_file_floor(bytes_of(small), out);
  if (what == "small") return bench::save_floor(small, out, false);
  return bench::save_floor(raw, out, what == "raw_synced");
}

double run(const std::string& task, const std::string& place, const std::string& out) {
  if (task == "rewrite") return rewrite(out);
  const std::size_t cut = task.find('_');
  require(cut != std::string::npos, "no such task");
  const std::string kind = task.substr(0, cut);
  const std::string what = task.substr(cut + 1);
  if (kind == "load") return load(what, place);
  if (kind == "cold") return load_direct(place + (what == "raw" ? "/zarrpoint.raw" : "/blosc"));
  if (kind == "save") return save(what, place, out);
  if (kind == "random") return random_chunks(place + "/" + task, what == "zstd");
  if (what == "zstd") return zstd_part(kind, place + "/parts_zstd");
  return raw_part(kind, place + "/parts_raw");
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  std::printf("%.9f\n", run(words[1], words[2], words[3]));
  return 0;
}
