// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/encode_plan.hpp>
#include <zarrpoint/codec/blosc/frame_plan.hpp>
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/cuda/kernels/symbols.cuh>
#include <zarrpoint/devices.hpp>

#include "cuda/long_run.hpp"

#include <doctest/doctest.h>
#include <zstd.h>

#include <memory>
#include <optional>
#include <random>

namespace symbols_test {

namespace zp = zarrpoint;
namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;
using bytes = std::vector<std::byte>;
using zp::detail::blosc_encode_plan;
using zp::detail::encode_work;

namespace {

/// The threads of a block, the last one first.
template <class F>
void all(F&& step) {
  for (std::uint32_t t = 256; t-- > 0;) step(t);
}

void count_in_steps(const std::vector<zp::device_symbols>& work) {
  const auto shared = std::make_unique<kernels::counts_shared>();
  for (const zp::device_symbols& job : work) {
    std::memset(shared.get(), 0xa5, sizeof *shared);
    all([&](std::uint32_t t) { kernels::clear_counts(*shared, t); });
    all([&](std::uint32_t t) {
      kernels::add_counts(job, *shared, t, [](std::uint32_t* at) { ++*at; });
    });
    all([&](std::uint32_t t) { kernels::store_counts(job, *shared, t); });
  }
}

/// False where a stream does not have the size that the plan says.
bool encode_in_steps(const std::vector<zp::device_symbols>& work) {
  const auto shared = std::make_unique<kernels::symbols_shared>();
  bool good = true;
  for (const zp::device_symbols& job : work) {
    std::memset(shared.get(), 0xa5, sizeof *shared);
    if (job.kind == zp::device_literals::stored) {
      all([&](std::uint32_t t) { kernels::copy_symbols(job, t); });
      continue;
    }
    std::vector<kernels::symbol_part> parts;
    for (std::uint32_t t = 0; t < 256; ++t) parts.push_back(kernels::part_of_symbols(job, t));
    shared->bad = 0;
    all([&](std::uint32_t t) { kernels::symbol_lengths(job, *shared, t); });
    all([&](std::uint32_t t) { kernels::symbol_entries(*shared, t); });
    all([&](std::uint32_t t) { kernels::measure_symbols(job, parts[t], *shared, t); });
    std::vector<std::uint32_t> before(256);
    all([&](std::uint32_t t) { before[t] = kernels::place_symbols(job, parts[t], *shared, t); });
    good &= shared->bad == 0;
    if (shared->bad != 0) continue;
    all([&](std::uint32_t t) {
      kernels::write_symbols(job, parts[t], *shared, before[t],
                             [](std::byte* at, std::uint32_t value) {
                               std::uint32_t held = 0;
                               std::memcpy(&held, at, sizeof held);
                               held |= value;
                               std::memcpy(at, &held, sizeof held);
                             });
    });
  }
  return good;
}

/// What is made of elements, with nothing allocated behind the words that streams are written in.
struct made_frame {
  bytes frame;
  encode_work work;
  zp::detail::planned_frame told;
};

template <class Count, class Encode>
std::optional<made_frame> made_by(const bytes& elements, const zp::detail::blosc_options& how,
                                  Count&& count, Encode&& encode) {
  const auto plan = blosc_encode_plan::of(how, elements.size());
  if (!plan) return std::nullopt;
  const std::uint64_t from = kernels::address_of(elements.data());
  std::vector<std::uint16_t> counts(plan->counts_bytes() / 2, 0xeeee);
  std::vector<zp::device_symbols> counting;
  plan->count(from, kernels::address_of(counts.data()), counting);
  count(counting);
  made_frame out;
  const zp::bytes_view counted = std::as_bytes(std::span(counts));
  constexpr std::size_t before = 16;  // as if another were before it
  const auto told = plan->plan(counted, from, before, out.work);
  REQUIRE(told);
  out.told = *told;
  bytes room((before + told->size + 3) / 4 * 4);
  for (zp::device_symbols& one : out.work.symbols) one.to += kernels::address_of(room.data());
  REQUIRE(encode(out.work.symbols));
  out.work.complete(room);
  out.frame.assign(room.begin() + before,
                   room.begin() + static_cast<std::ptrdiff_t>(before + told->size));
  return out;
}

std::optional<made_frame> in_steps(const bytes& elements, const zp::detail::blosc_options& how) {
  return made_by(elements, how, count_in_steps, encode_in_steps);
}

zp::detail::blosc_options options_of(std::size_t size, std::size_t block_size = 0) {
  zp::detail::blosc_options out;
  out.format = zp::detail::blosc_format::zstd;
  if (size != 1) out.shuffle = zp::detail::blosc_header::byte_shuffle;
  out.type_size = size;
  out.block_size = block_size;
  out.level = 1;
  return out;
}

/// Whether libzstd makes the planes of each zstd stream of the frame.
bool libzstd_agrees(const bytes& frame, const bytes& elements) {
  const auto header = zp::detail::blosc_header::parse(frame).value();
  if (header.has(zp::detail::blosc_header::stored)) return true;
  const std::size_t width =
      header.has(zp::detail::blosc_header::byte_shuffle) ? header.type_size : 1;
  for (std::size_t i = 0; i < header.block_count(); ++i) {
    const std::size_t size = header.block_bytes(i);
    const std::size_t streams = header.streams(size);
    std::size_t at = zp::load_le<std::uint32_t>(frame.data() + 16 + 4 * i);
    for (std::size_t j = 0; j < streams; ++j) {
      const std::size_t length = zp::load_le<std::uint32_t>(frame.data() + at);
      at += 4;
      const std::size_t made = size / streams;
      if (length != made) {
        bytes plane(made);
        if (ZSTD_decompress(plane.data(), made, frame.data() + at, length) != made) return false;
        for (std::size_t k = 0; k < made; ++k)
          if (plane[k] != elements[i * header.block_size + k * width + j]) return false;
      }
      at += length;
    }
  }
  return true;
}

void check(const made_frame& made, const bytes& elements, std::size_t size) {
  zp::blosc_codec codec;
  codec.type_size = size;
  zp::codec_workspace scratch;
  bytes decoded(elements.size(), std::byte{0xee});
  const auto done = codec.decode(made.frame, decoded, scratch);
  REQUIRE(done);
  REQUIRE(decoded == elements);
  REQUIRE(libzstd_agrees(made.frame, elements));
  REQUIRE(made.frame.size() <= elements.size() + 16);
  // It is what a device decodes, too.
  zp::detail::frame_work work;
  bytes padded = made.frame;
  padded.resize(padded.size() + 4);
  REQUIRE(zp::detail::plan_blosc_frame(
      zp::bytes_view(padded).first(made.frame.size()),
      {kernels::address_of(padded.data()), 16, 16, elements.size()}, work));
}

/// Bytes of every kind that a plane may have.
bytes any_plane(random_source& random, std::size_t count) {
  bytes out(count);
  const std::size_t kind = pick(random, 9);
  const auto symbol = [&] { return static_cast<std::byte>(pick(random, 256)); };
  const std::array some{symbol(), symbol(), symbol()};
  std::geometric_distribution<int> geometric(
      std::array{0.01, 0.03, 0.1, 0.3, 0.6, 0.97}[pick(random, 6)]);
  for (std::size_t i = 0; i < count; ++i) {
    switch (kind) {
      case 0: out[i] = some[0]; break;
      case 1: out[i] = some[pick(random, 2)]; break;
      case 2: out[i] = symbol(); break;
      case 3: out[i] = static_cast<std::byte>(i & 255); break;                  // all as often
      case 4: out[i] = i % 5000 == 17 ? some[1] : some[0]; break;               // nearly one
      case 5: out[i] = i < count / 3 ? some[0] : symbol(); break;               // streams differ
      case 6: out[i] = static_cast<std::byte>(std::countr_zero(i + 1)); break;  // the longest
      case 7: out[i] = i / 131'072 % 2 == 0 ? some[i % 3] : symbol(); break;    // blocks differ
      default: out[i] = static_cast<std::byte>(geometric(random) * 37 & 255); break;
    }
  }
  return out;
}

bytes elements_of(random_source& random, std::size_t size, std::size_t count) {
  bytes out(size * count);
  for (std::size_t p = 0; p < size; ++p) {
    const bytes plane = any_plane(random, count);
    for (std::size_t i = 0; i < count; ++i) out[i * size + p] = plane[i];
  }
  return out;
}

/// Weights as a type stores them.
template <class T>
bytes weights(std::size_t count) {
  random_source random(5);
  std::normal_distribution<float> normal(0, sizeof(T) == 1 ? 20.F : 0.02F);
  bytes out(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T one = zp::convert<T>(normal(random));
    std::memcpy(out.data() + i * sizeof(T), &one, sizeof one);
  }
  return out;
}

}  // namespace

TEST_CASE("symbols kernels: random frames, which the processor and libzstd decode") {
  random_source random(81);
  std::size_t stored = 0;
  std::size_t coded = 0;
  const std::size_t frames = wanted_frames(500);
  for (std::size_t n = 0; n < frames; ++n) {
    CAPTURE(n);
    const std::size_t size = std::array<std::size_t, 6>{1, 2, 2, 3, 4, 8}[pick(random, 6)];
    const std::size_t least = std::max<std::size_t>(1024 / size + 1, 128);
    const bool is_large = n % (frames > 1'000 ? 1'000 : 10) == 0;
    const std::size_t count = least + pick(random, (is_large ? 300'000 : 9'000) / size);
    const std::size_t block = pick(random, 4) == 0 ? std::size_t{4096} << pick(random, 5) : 0;
    const bytes elements = elements_of(random, size, count);
    const auto made = in_steps(elements, options_of(size, block));
    if (!made) continue;  // too much is left behind the last block
    check(*made, elements, size);
    const auto header = zp::detail::blosc_header::parse(made->frame).value();
    ++(header.has(zp::detail::blosc_header::stored) ? stored : coded);
    if (made->told.repeated) {
      for (std::size_t i = 0; i < elements.size(); ++i)
        REQUIRE(elements[i] == (*made->told.repeated)[i % size]);
    }
  }
  MESSAGE(coded << " coded, " << stored << " stored as they are");
  CHECK(stored > 0);
  CHECK(coded > frames / 2);
}

TEST_CASE("symbols kernels: what the fuzz corpora hold, as elements of every size") {
  std::size_t made = 0;
  for_each_of_corpora([&](bytes content) {
    content.resize(content.size() / 8 * 8);
    for (const std::size_t size : {1u, 2u, 4u, 8u}) {
      CAPTURE(size);
      CAPTURE(content.size());
      const auto frame = in_steps(content, options_of(size));
      if (!frame) continue;  // too little
      check(*frame, content, size);
      ++made;
    }
  });
  MESSAGE(made << " frames");
  CHECK(made > 200);
}

TEST_CASE("symbols kernels: weights become as small as by the host") {
  const auto compare = [](const bytes& elements, std::size_t size) {
    CAPTURE(size);
    const auto made = in_steps(elements, options_of(size));
    REQUIRE(made);
    check(*made, elements, size);
    zp::codec_workspace scratch;
    const zp::blosc_codec codec{
        {.level = 1, .shuffle = zp::blosc_shuffle::bytes, .type_size = size}};
    bytes by_host(codec.encoded_bound(elements.size()));
    const std::size_t host_size = codec.encode(elements, by_host, scratch).value();
    CHECK(host_size < elements.size() * 9 / 10);
    CHECK(made->frame.size() * 100 < host_size * 101);
    CHECK(host_size * 100 < made->frame.size() * 101);
  };
  compare(weights<zp::bfloat16>(1 << 19), 2);
  compare(weights<zp::float16>(1 << 18), 2);
  compare(weights<float>(1 << 18), 4);
  compare(weights<zp::float8_e4m3fn>(1 << 20), 1);
}

TEST_CASE("symbols kernels: blocks of a plane have one code, as the host gives them") {
  // 5 MiB in blocks of 1 MiB: each plane of 512 KiB has four zstd blocks.
  const bytes elements = weights<zp::bfloat16>(5 << 19);
  const auto made = in_steps(elements, options_of(2));
  REQUIRE(made);
  check(*made, elements, 2);
  std::size_t tables = 0;
  std::size_t streams = 0;
  for (const zp::device_symbols& one : made->work.symbols)
    if (one.kind != zp::device_literals::stored) ++streams;
  for (std::size_t i = 0; i + 1 < made->work.symbols.size(); ++i)
    if (made->work.symbols[i].kind != zp::device_literals::stored &&
        made->work.symbols[i].lengths != made->work.symbols[i + 1].lengths)
      ++tables;
  CHECK(streams == 20);
  CHECK(tables == 4);  // and the last one
}

TEST_CASE("symbols kernels: what was counted otherwise is not written") {
  random_source random(83);
  bytes elements = weights<zp::bfloat16>(40'000);
  std::size_t told = 0;
  for (int n = 0; n < 20; ++n) {
    const auto encode = [&](std::vector<zp::device_symbols>& work) {
      const bytes as_counted = elements;
      for (std::size_t k = 0; k < 50; ++k) elements[pick(random, elements.size())] ^= std::byte{9};
      // Where a stream has another size, or a byte has no code, nothing of it is written.
      if (!encode_in_steps(work)) ++told;
      elements = as_counted;
      return encode_in_steps(work);
    };
    const auto made = made_by(elements, options_of(2), count_in_steps, encode);
    REQUIRE(made);
  }
  CHECK(told > 10);
  // Counts that are none.
  const auto plan = blosc_encode_plan::of(options_of(2), elements.size()).value();
  encode_work work;
  CHECK_FALSE(plan.plan(bytes(plan.counts_bytes(), std::byte{1}), 0, 0, work));
  CHECK_FALSE(plan.plan(bytes(plan.counts_bytes() - 1), 0, 0, work));
  CHECK(work.symbols.empty());
  CHECK(work.texts.empty());
  CHECK(work.bytes.empty());
}

TEST_CASE("symbols kernels: only frames that a device makes") {
  const auto takes = [](auto&& change, std::size_t size = 1 << 16) {
    zp::detail::blosc_options how = options_of(2);
    change(how);
    return blosc_encode_plan::of(how, size).has_value();
  };
  CHECK(takes([](auto&) {}));
  CHECK(takes([](auto& how) { how.type_size = 1; }));
  CHECK(takes([](auto& how) { how.type_size = 1, how.shuffle = 0; }));
  CHECK_FALSE(takes([](auto& how) { how.shuffle = 0; }));
  CHECK_FALSE(takes([](auto& how) { how.shuffle = zp::detail::blosc_header::bit_shuffle; }));
  CHECK_FALSE(takes([](auto& how) { how.format = zp::detail::blosc_format::lz4; }));
  CHECK_FALSE(takes([](auto& how) { how.level = 0; }));
  CHECK_FALSE(takes([](auto& how) { how.type_size = 16; }));
  CHECK_FALSE(takes([](auto& how) { how.type_size = 0; }));
  CHECK_FALSE(takes([](auto& how) { how.block_size = 200; }));  // too small to be split
  CHECK_FALSE(takes([](auto& how) { how.block_size = 40'000; }));
  CHECK_FALSE(takes([](auto&) {}, 1000));
  CHECK_FALSE(takes([](auto&) {}, 65'537));
}

TEST_CASE("symbols kernels: by launches, with the barriers that they have") {
  simulated = {};
  random_source random(84);
  for (int n = 0; n < 3; ++n) {
    const std::size_t size = std::array<std::size_t, 3>{2, 1, 4}[static_cast<std::size_t>(n)];
    const bytes elements = n == 0 ? weights<zp::bfloat16>(4'000) : elements_of(random, size, 2'000);
    alignas(4) std::byte failed[4]{};
    simulated.has_barriers = true;
    const auto made = made_by(
        elements, options_of(size),
        [](const std::vector<zp::device_symbols>& work) {
          REQUIRE(kernels::count_symbols(nullptr, work.data(), work.size()) == cudaSuccess);
        },
        [&](std::vector<zp::device_symbols>& work) {
          REQUIRE(kernels::encode_symbols(nullptr, work.data(), work.size(), failed) ==
                  cudaSuccess);
          return failed[0] == std::byte{};
        });
    REQUIRE(made);
    check(*made, elements, size);
    if (n != 0) continue;
    std::vector<zp::device_symbols> work = made->work.symbols;
    bytes room(made->frame.size() + 20);
    for (zp::device_symbols& one : work) {
      one.to = kernels::address_of(room.data());
      ++one.sizes[2];
    }
    REQUIRE(kernels::encode_symbols(nullptr, work.data(), work.size(), failed) == cudaSuccess);
    CHECK(failed[0] != std::byte{});
  }
}

TEST_CASE("symbols kernels: nothing to do, and errors of launches") {
  simulated = {};
  alignas(8) std::byte at[8]{};
  const zp::device_symbols one{};
  CHECK(kernels::count_symbols(nullptr, &one, 0) == cudaSuccess);
  CHECK(kernels::encode_symbols(nullptr, &one, 0, at) == cudaSuccess);
  CHECK(kernels::encode_symbols(nullptr, &one, 1, at + 1) == cudaErrorInvalidValue);
  CHECK(simulated.launches == 0);
  simulated.next_error = cudaErrorLaunchFailure;
  CHECK(kernels::count_symbols(nullptr, &one, 1) == cudaErrorLaunchFailure);
  CHECK(kernels::encode_symbols(nullptr, &one, 1, at) == cudaErrorLaunchFailure);
  CHECK(simulated.remembered == cudaSuccess);
}

}  // namespace symbols_test
