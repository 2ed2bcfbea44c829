// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The codec blosc on weights in memory, chunk by chunk: beside a copy, zstd, and c-blosc where its
// library is found. One thread; in each round the variants take turns. The figures are medians of
// processor time, which a loaded machine disturbs less than that of the clock.
// Usage: blosc_bench [MEGABYTES [ROUNDS]]

#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "harness.hpp"

#if __has_include(<blosc.h>)
#include <blosc.h>
#endif

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>

namespace zp = zarrpoint;

namespace {

/// A way to store chunks.
struct variant {
  std::string name;
  std::function<std::size_t(zp::bytes_view from, zp::mutable_bytes to)> encode;
  std::function<void(zp::bytes_view from, zp::mutable_bytes to)> decode;
  std::vector<std::vector<std::byte>> stored{};
  std::vector<double> encoding{};
  std::vector<double> decoding{};
};

/// Seconds that this thread had a processor while `work` ran.
double processor_seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    std::timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  std::exit(1);
}

template <class Codec>
variant of_codec(const std::string& name, Codec codec) {
  auto scratch = std::make_shared<zp::codec_workspace>();
  return {.name = name,
          .encode = [=](zp::bytes_view from,
                        zp::mutable_bytes to) { return codec.encode(from, to, *scratch).value(); },
          .decode =
              [=](zp::bytes_view from, zp::mutable_bytes to) {
                require(codec.decode(from, to, *scratch).value() == to.size(), name);
              }};
}

zp::blosc_codec ours(zp::blosc_compressor compressor) {
  zp::blosc_codec out;
  out.compressor = compressor;
  out.level = 1;
  out.shuffle = zp::blosc_shuffle::bytes;
  out.type_size = 2;
  return out;
}

std::vector<variant> variants(std::size_t chunk) {
  std::vector<variant> out;
  const auto copy = [](zp::bytes_view from, zp::mutable_bytes to) {
    std::memcpy(to.data(), from.data(), from.size());
    return from.size();
  };
  out.push_back({.name = "memcpy", .encode = copy, .decode = copy});
  out.push_back(of_codec("zstd-1", zp::zstd_codec{.level = 1}));
  out.push_back(of_codec("blosc, zstd, shuffle", ours(zp::blosc_compressor::zstd)));
  out.push_back(of_codec("blosc, lz4, shuffle", ours(zp::blosc_compressor::lz4)));
#if defined(BLOSC_VERSION_STRING)
  const auto by_blosc = [](zp::bytes_view from, zp::mutable_bytes to) {
    const int size = blosc_decompress_ctx(from.data(), to.data(), to.size(), 1);
    require(size == static_cast<int>(to.size()), "c-blosc");
  };
  variant read =
      of_codec("blosc, zstd, shuffle, read by c-blosc", ours(zp::blosc_compressor::zstd));
  read.decode = by_blosc;
  out.push_back(read);
  for (const std::size_t block : {std::size_t{0}, chunk}) {
    out.push_back({.name = block == 0 ? "c-blosc, zstd, shuffle" : "c-blosc, the same in one block",
                   .encode =
                       [=](zp::bytes_view from, zp::mutable_bytes to) {
                         const int size =
                             blosc_compress_ctx(1, 1, 2, from.size(), from.data(), to.data(),
                                                to.size(), "zstd", block, 1);
                         require(size > 0, "c-blosc");
                         return static_cast<std::size_t>(size);
                       },
                   .decode = by_blosc});
  }
#else
  static_cast<void>(chunk);
#endif
  return out;
}

void measure(std::span<const std::byte> values, std::size_t chunk, int rounds) {
  std::vector<variant> all = variants(chunk);
  const std::size_t count = values.size() / chunk;
  std::vector<std::byte> back(values.size());
  const auto part = [&](auto whole, std::size_t i) { return whole.subspan(i * chunk, chunk); };
  for (int round = -1; round < rounds; ++round) {
    for (variant& one : all) {
      std::vector<std::byte> to(2 * chunk);
      one.stored.resize(count);
      double encoding = 0;
      for (std::size_t i = 0; i < count; ++i) {
        std::size_t size = 0;
        encoding += processor_seconds_of([&] { size = one.encode(part(values, i), to); });
        if (round < 0)
          one.stored[i].assign(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(size));
      }
      const double decoding = processor_seconds_of([&] {
        for (std::size_t i = 0; i < count; ++i) one.decode(one.stored[i], part(std::span(back), i));
      });
      require(std::memcmp(back.data(), values.data(), count * chunk) == 0, one.name);
      if (round < 0) continue;  // a warm-up
      one.encoding.push_back(encoding);
      one.decoding.push_back(decoding);
    }
  }
  const auto bytes = static_cast<double>(count * chunk);
  std::printf("\n| chunks of %zu KiB | stored | encode | decode |\n|---|---|---|---|\n",
              chunk >> 10);
  for (const variant& one : all) {
    std::size_t stored = 0;
    for (const auto& each : one.stored) stored += each.size();
    const auto rate = [&](const std::vector<double>& times) {
      return bytes / bench::median(times) / 1e9;
    };
    std::printf("| %s | %.1f %% | %.2f GB/s | %.2f GB/s |\n", one.name.c_str(),
                100 * static_cast<double>(stored) / bytes, rate(one.encoding), rate(one.decoding));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  const std::size_t columns = 4096;
  const std::vector<std::uint16_t> values =
      bench::weights((megabytes << 20) / 2 / columns, columns);
  std::printf("%zu MiB of bfloat16 in memory, %d rounds\n", megabytes, rounds);
  for (const std::size_t chunk : {std::size_t{512} << 10, std::size_t{1} << 20})
    measure(std::as_bytes(std::span(values)), chunk, rounds);
  return 0;
}
