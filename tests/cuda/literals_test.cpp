// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/blosc/frame_plan.hpp>
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/cuda/kernels/literals.cuh>
#include <zarrpoint/cuda/kernels/unshuffle.cuh>
#include <zarrpoint/devices.hpp>

#include "cuda/long_run.hpp"
#include "support/libzstd_literals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

namespace literals_test {

namespace zp = zarrpoint;
namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;
using bytes = std::vector<std::byte>;
using zp::detail::frame_work;

namespace {

std::uint64_t address(const bytes& of) { return kernels::address_of(of.data()); }

/// The steps of the kernels, each for all threads of a block before the next. False where a stream
/// is none. `rounds`: the most that the threads of a block took until they knew where they begin.
bool run_in_steps(const frame_work& work, int* rounds = nullptr) {
  const auto shared = std::make_unique<kernels::literals_shared>();
  bool good = true;
  for (const zp::device_literals& job : work.literals) {
    std::memset(shared.get(), 0xa5, sizeof *shared);
    const auto all = [&](auto&& step) {
      for (std::uint32_t t = 256; t-- > 0;) step(t);
    };
    if (job.kind <= zp::device_literals::repeated) {
      all([&](std::uint32_t t) { kernels::literals_bytes(job, t); });
      continue;
    }
    all([&](std::uint32_t t) { kernels::literals_lengths(job, *shared, t); });
    all([&](std::uint32_t t) { kernels::literals_singles(*shared, t); });
    all([&](std::uint32_t t) { kernels::literals_entries(*shared, t); });
    std::vector<kernels::literal_part> parts;
    for (std::uint32_t t = 0; t < 256; ++t) parts.push_back(kernels::part_of_literals(job, t));
    std::vector<bool> is_new(256, true);
    all([&](std::uint32_t t) { shared->starts[t] = parts[t].begin; });
    shared->bad = 0;
    int taken = 0;
    for (bool changed = true; changed; ++taken) {
      all([&](std::uint32_t t) {
        if (is_new[t]) kernels::scan_literals(parts[t], *shared, t);
      });
      changed = false;
      all([&](std::uint32_t t) {
        is_new[t] = kernels::move_literals(parts[t], *shared, t);
        changed |= is_new[t];
      });
    }
    if (rounds != nullptr) *rounds = std::max(*rounds, taken);
    std::vector<std::uint32_t> before(256);
    all([&](std::uint32_t t) { before[t] = kernels::sum_literals(parts[t], *shared, t); });
    good &= shared->bad == 0;
    if (shared->bad != 0) continue;
    all([&](std::uint32_t t) {
      auto* const to = kernels::at_address<std::byte>(job.to) + parts[t].to + before[t];
      kernels::write_literals(parts[t], *shared, t, to);
    });
  }
  const std::uint64_t tiles = kernels::divide_up(work.most_bytes, kernels::planes_tile);
  for (const zp::device_planes& job : work.planes) {
    for (std::uint64_t tile = 0; tile < tiles; ++tile) {
      for (std::uint32_t t = 0; t < 256; ++t) kernels::join_tile(job, tile, t);
    }
  }
  return good;
}

/// A frame as it lies on a device, with four bytes behind it, and what is made of it.
struct placed_frame {
  bytes frame;
  bytes room;
  bytes to;
  frame_work work;

  placed_frame(const bytes& stored, std::size_t made)
      : frame(stored), room(made), to(made, std::byte{0xee}) {
    frame.resize(stored.size() + 4, std::byte{0xff});
  }
  bool plan() {
    const zp::bytes_view stored(frame.data(), frame.size() - 4);
    return zp::detail::plan_blosc_frame(
        stored, {address(frame), address(room), address(to), to.size()}, work);
  }
};

bytes of_distribution(random_source& random, std::size_t size, double p) {
  std::geometric_distribution<int> distribution(p);
  bytes out(size);
  for (std::byte& one : out) one = static_cast<std::byte>(distribution(random) * 37 & 255);
  return out;
}

/// Elements of which the lower bytes are noise, and the highest are unevenly frequent; some chunks
/// are all noise, some hold one value, some repeat.
bytes elements(random_source& random, std::size_t size, std::size_t count) {
  const double p = std::array{0.03, 0.1, 0.3, 0.6, 0.95}[pick(random, 5)];
  const bytes high = of_distribution(random, count, p);
  bytes out = random_bytes(random, size * count);
  const std::size_t kind = pick(random, 12);
  for (std::size_t i = 0; i < count; ++i) {
    if (kind != 0) out[i * size + size - 1] = high[i];
    if (kind == 1) out[i * size] = std::byte{7};
  }
  if (kind == 2) std::fill(out.begin(), out.end(), std::byte{3});
  return out;
}

bytes encoded(const bytes& from, const zp::blosc_codec& codec) {
  zp::codec_workspace scratch;
  bytes out(codec.encoded_bound(from.size()));
  out.resize(codec.encode(from, out, scratch).value());
  return out;
}

zp::blosc_codec any_codec(random_source& random, std::size_t size) {
  zp::blosc_codec out;
  out.level = static_cast<int>(pick(random, 6));
  out.shuffle = pick(random, 5) == 0 ? zp::blosc_shuffle::none : zp::blosc_shuffle::bytes;
  out.type_size = size;
  if (pick(random, 3) == 0) out.block_size = std::size_t{1024} << pick(random, 8);
  return out;
}

/// A frame of one zstd stream that makes `size` bytes.
bytes frame_around(zp::bytes_view stream, std::size_t size) {
  zp::detail::blosc_header header;
  header.flags = zp::detail::blosc_header::not_split;
  header.format = zp::detail::blosc_format::zstd;
  header.bytes = header.block_size = size;
  header.frame_size = 24 + stream.size();
  bytes frame(24 + stream.size());
  header.write(frame.data());
  zp::store_le<std::uint32_t>(frame.data() + 16, 20);
  zp::store_le<std::uint32_t>(frame.data() + 20, static_cast<std::uint32_t>(stream.size()));
  std::copy(stream.begin(), stream.end(), frame.begin() + 24);
  return frame;
}

/// What a frame was for the kernels: none of theirs, or damaged, or decoded as by the processor.
enum class verdict { unknown, damaged, same };
verdict judge(const bytes& frame, std::size_t size) {
  placed_frame placed(frame, size);
  if (!placed.plan()) return verdict::unknown;
  if (!run_in_steps(placed.work)) return verdict::damaged;
  bytes expected(size, std::byte{0xee});
  zp::codec_workspace scratch;
  REQUIRE(zp::blosc_codec().decode(frame, expected, scratch));
  REQUIRE(placed.to == expected);
  return verdict::same;
}

}  // namespace

TEST_CASE("literals kernel: random frames, as the processor decodes them") {
  random_source random(71);
  std::size_t planned = 0;
  const std::size_t frames = wanted_frames(600);
  for (std::size_t n = 0; planned < frames && n < 4 * frames; ++n) {
    CAPTURE(n);
    const std::size_t size = std::array<std::size_t, 6>{1, 2, 2, 4, 8, 16}[pick(random, 6)];
    const bool is_large = n % (frames > 1'000 ? 1'000 : 20) == 0;
    std::size_t count = 1 + pick(random, is_large ? 400'000 / size : 9'000);
    if (pick(random, 2) == 0) count = (count + 15) / 16 * 16;
    const bytes values = elements(random, size, count);
    placed_frame placed(encoded(values, any_codec(random, size)), values.size());
    if (!placed.plan()) continue;  // with matches
    ++planned;
    REQUIRE(run_in_steps(placed.work));
    REQUIRE(placed.to == values);
  }
  CHECK(planned == frames);
}

TEST_CASE(
    "literals kernel: threads soon know where they begin, or the streams are read all the same") {
  random_source random(75);
  std::normal_distribution<float> normal(0, 0.02F);
  bytes values;
  for (int i = 0; i < 1 << 18; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(normal(random));
    values.push_back(static_cast<std::byte>(bits >> 16 & 255));
    values.push_back(static_cast<std::byte>(bits >> 24));
  }
  placed_frame weights(encoded(values, {{.level = 1, .type_size = 2}}), values.size());
  REQUIRE(weights.plan());
  int rounds = 0;
  REQUIRE(run_in_steps(weights.work, &rounds));
  CHECK(rounds <= 3);
  CHECK(weights.to == values);
  // Codes of the same length never find their way: 32 symbols, each as frequent as the others.
  bytes equal(40'000);
  for (std::byte& one : equal) one = static_cast<std::byte>(pick(random, 32) * 8);
  placed_frame five_bits(
      encoded(equal, {{.level = 1, .shuffle = zp::blosc_shuffle::none, .type_size = 1}}),
      equal.size());
  REQUIRE(five_bits.plan());
  rounds = 0;
  REQUIRE(run_in_steps(five_bits.work, &rounds));
  CHECK(rounds > 3);
  CHECK(five_bits.to == equal);
}

TEST_CASE("literals kernel: what is damaged is refused, or told, or as the processor has it") {
  random_source random(72);
  std::size_t told = 0;
  std::size_t same = 0;
  const std::size_t frames = wanted_frames(1'500);
  for (std::size_t n = 0; n < frames; ++n) {
    CAPTURE(n);
    const std::size_t size = std::array<std::size_t, 4>{1, 2, 4, 16}[pick(random, 4)];
    const bytes values = elements(random, size, 400 + pick(random, 6'000));
    zp::blosc_codec codec = any_codec(random, size);
    bytes stored = encoded(values, codec);
    for (std::size_t k = 1 + pick(random, 3); k > 0; --k)
      stored[pick(random, stored.size())] = static_cast<std::byte>(pick(random, 256));
    bytes expected(values.size(), std::byte{0xee});
    zp::codec_workspace scratch;
    const auto decoded = codec.decode(stored, expected, scratch);
    placed_frame placed(stored, values.size());
    if (!placed.plan()) {
      CHECK(placed.work.literals.empty());
      CHECK(placed.work.planes.empty());
      continue;
    }
    if (!run_in_steps(placed.work)) {
      // What libzstd makes of streams that end too late is its own affair.
      ++told;
      continue;
    }
    ++same;
    REQUIRE(decoded);
    REQUIRE(placed.to == expected);
  }
  MESSAGE(same << " decoded as by the processor, " << told << " found damaged");
  CHECK(told > 0);
  CHECK(same > 0);
}

TEST_CASE("literals kernel: what the fuzz corpora hold, as frames, as streams and as elements") {
  constexpr std::size_t most = std::size_t{4} << 20;
  constexpr std::byte magic[] = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f},
                                 std::byte{0xfd}};
  std::size_t of[3][3] = {};  // frames, streams and elements, by verdict
  const auto add = [&](std::size_t kind, const bytes& frame, std::size_t size) {
    CAPTURE(kind);
    CAPTURE(frame.size());
    ++of[kind][static_cast<std::size_t>(judge(frame, size))];
  };
  for_each_of_corpora([&](const bytes& content) {
    // Inputs of the fuzz targets begin with a few bytes that choose what is done with the rest.
    for (std::size_t skipped = 0; skipped <= std::min<std::size_t>(3, content.size()); ++skipped) {
      const bytes rest(content.begin() + static_cast<std::ptrdiff_t>(skipped), content.end());
      const auto header = zp::detail::blosc_header::parse(rest);
      if (header && header->bytes != 0 && header->bytes <= most) add(0, rest, header->bytes);
    }
    for (auto at = content.begin();; ++at) {
      at = std::search(at, content.end(), std::begin(magic), std::end(magic));
      if (at == content.end()) break;
      const zp::bytes_view rest(&*at, static_cast<std::size_t>(content.end() - at));
      const unsigned long long size = ZSTD_getFrameContentSize(rest.data(), rest.size());
      const std::size_t stored = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
      if (size == 0 || size > most) continue;
      const auto made = static_cast<std::size_t>(size);
      add(1, frame_around(ZSTD_isError(stored) != 0 ? rest : rest.first(stored), made), made);
    }
    const bytes elements(content.begin(), content.end() - content.size() % 4);
    for (const std::size_t size : {1u, 2u, 4u})
      if (!elements.empty())
        add(2, encoded(elements, {{.level = 1, .type_size = size}}), elements.size());
  });
  for (std::size_t kind = 0; kind < 3; ++kind)
    MESSAGE(std::string(kind == 0   ? "frames"
                        : kind == 1 ? "streams"
                                    : "elements")
            << ": " << of[kind][2] << " the same, " << of[kind][1] << " damaged, " << of[kind][0]
            << " of another kind");
  CHECK(of[0][0] + of[0][2] > 10);
  CHECK(of[1][0] + of[1][2] > 10);
  CHECK(of[2][2] > 200);
  CHECK(of[2][1] == 0);
}

TEST_CASE("literals kernel: frames by libzstd, and codes of every depth") {
  random_source random(73);
  for (const std::size_t size : {4096u, 65'536u, 131'072u, 131'073u, 300'001u}) {
    for (const double p : {0.02, 0.2, 0.5, 0.9}) {
      CAPTURE(size);
      CAPTURE(p);
      const bytes values = of_distribution(random, size, p);
      placed_frame placed(frame_around(literals_by_libzstd(values), size), size);
      REQUIRE(placed.plan());
      REQUIRE(run_in_steps(placed.work));
      REQUIRE(placed.to == values);
    }
  }
}

TEST_CASE("frames for a device: a small one makes no large table") {
  // One zstd stream of blocks that repeat one byte once, named by 64 blocks.
  constexpr std::size_t block = 1024;
  constexpr std::size_t blocks = 64;
  bytes stream(6 + 4 * block);
  zp::store_le<std::uint32_t>(stream.data(), 0xfd2fb528);
  stream[4] = std::byte{0x60};  // one segment, two bytes of size, from 256 on
  stream.insert(stream.begin() + 5, std::byte{});
  zp::store_le<std::uint16_t>(stream.data() + 5, block - 256);
  for (std::size_t i = 0; i < block; ++i) {
    const std::size_t head = 1 << 3 | 1 << 1 | (i + 1 == block ? 1U : 0U);
    stream[7 + 4 * i] = static_cast<std::byte>(head);
    stream[7 + 4 * i + 3] = static_cast<std::byte>(i);
  }
  const auto frame_of = [&](bool again) {
    zp::detail::blosc_header header;
    header.flags = zp::detail::blosc_header::not_split;
    header.format = zp::detail::blosc_format::zstd;
    header.block_size = block;
    header.bytes = again ? block * blocks : block;
    const std::size_t at = header.body();
    header.frame_size = at + 4 + stream.size();
    bytes frame(at + 4);
    header.write(frame.data());
    for (std::size_t i = 0; i < header.block_count(); ++i)
      zp::store_le<std::uint32_t>(frame.data() + 16 + 4 * i, static_cast<std::uint32_t>(at));
    zp::store_le<std::uint32_t>(frame.data() + at, static_cast<std::uint32_t>(stream.size()));
    frame.insert(frame.end(), stream.begin(), stream.end());
    return frame;
  };
  placed_frame once(frame_of(false), block);
  REQUIRE(once.plan());
  CHECK(once.work.literals.size() == block);
  CHECK(run_in_steps(once.work));
  placed_frame small(frame_of(false), block);
  small.work.room_left = 100 * sizeof(zp::device_literals);
  CHECK_FALSE(small.plan());
  CHECK(small.work.literals.empty());
  CHECK(small.work.room_left == 100 * sizeof(zp::device_literals));
  placed_frame again(frame_of(true), block * blocks);
  CHECK_FALSE(again.plan());
  CHECK(again.work.literals.capacity() <= 2 * block);
  zp::codec_workspace scratch;
  bytes to(block * blocks);
  const auto decoded = zp::blosc_codec().decode(frame_of(true), to, scratch);
  REQUIRE_FALSE(decoded);
  CHECK(decoded.failure().message.find("its streams overlap") != std::string::npos);
}

TEST_CASE("literals kernel: by launches, with the barriers that it has") {
  random_source random(74);
  simulated = {};
  for (int n = 0; n < 4; ++n) {
    const bytes values = elements(random, 2, 3'000);
    placed_frame placed(encoded(values, {{.level = 1, .type_size = 2}}), values.size());
    if (!placed.plan()) continue;
    alignas(4) std::byte failed[4]{};
    simulated.has_barriers = true;
    const auto& [literals, planes, checksums, most, room] = placed.work;
    CHECK(checksums.empty());
    CHECK(room < SIZE_MAX);
    REQUIRE(kernels::decode_literals(nullptr, literals.data(), literals.size(), failed) ==
            cudaSuccess);
    simulated.has_barriers = false;
    REQUIRE(kernels::join_planes(nullptr, planes.data(), planes.size(), most) == cudaSuccess);
    CHECK(failed[0] == std::byte{});
    CHECK(placed.to == values);
    // A stream that ends in a zero byte is none.
    bool damaged = false;
    for (const zp::device_literals& one : literals) {
      if (one.kind <= zp::device_literals::repeated) continue;
      auto* const from = kernels::at_address<std::byte>(one.from);
      from[one.sizes[0] - 1] = std::byte{};
      damaged = true;
    }
    simulated.has_barriers = true;
    REQUIRE(kernels::decode_literals(nullptr, literals.data(), literals.size(), failed) ==
            cudaSuccess);
    CHECK((failed[0] != std::byte{}) == damaged);
  }
}

TEST_CASE("literals kernel: nothing to do, and errors of launches") {
  simulated = {};
  alignas(8) std::byte at[8]{};
  const zp::device_literals one{};
  const zp::device_planes planes{};
  CHECK(kernels::decode_literals(nullptr, &one, 0, at) == cudaSuccess);
  CHECK(kernels::join_planes(nullptr, &planes, 0, 8) == cudaSuccess);
  CHECK(kernels::join_planes(nullptr, &planes, 1, 0) == cudaSuccess);
  CHECK(kernels::decode_literals(nullptr, &one, 1, at + 1) == cudaErrorInvalidValue);
  CHECK(simulated.launches == 0);
  simulated.next_error = cudaErrorLaunchFailure;
  CHECK(kernels::decode_literals(nullptr, &one, 1, at) == cudaErrorLaunchFailure);
  CHECK(kernels::join_planes(nullptr, &planes, 1, 8) == cudaErrorLaunchFailure);
  CHECK(simulated.remembered == cudaSuccess);
}

}  // namespace literals_test
