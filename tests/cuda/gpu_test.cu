// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What only a real device can show: every kernel against the host, and save and load with them.
// Ends with 77 where there is no device.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/cuda.hpp>
#include <zarrpoint/cuda/element_types.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarrpoint.hpp>

#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS  // its handler says no more than the name of the case
#include "cuda/gpu_kernels.hpp"
#include "support/random_layout.cpp"

#include <doctest/doctest.h>
#include <execinfo.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace zp = zarrpoint;
namespace gpu = zarrpoint::cuda;
using namespace zarrpoint_test;

namespace {

/// A stream of its own, with the kernels.
const gpu::device_space& space() {
  static const gpu::stream stream = gpu::stream::make(0).value();
  static const gpu::device_space made = stream.space(&gpu_kernels());
  return made;
}

/// Bytes on the device that begin `shift` past an address aligned to 256.
class device_bytes {
 public:
  device_bytes(std::size_t size, std::size_t shift)
      : size_(size + shift), shift_(shift), made_(space().allocate(size_ + 1).value()) {}
  device_bytes(const std::vector<std::byte>& bytes, std::size_t shift)
      : device_bytes(bytes.size(), shift) {
    if (!bytes.empty()) space().copy_from_host(data(), bytes.data(), {bytes.size()}).value();
    space().synchronize().value();
  }
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
  ~device_bytes() { space().deallocate(made_, size_ + 1); }

  std::byte* data() const { return made_ + shift_; }
  std::vector<std::byte> download() const {
    std::vector<std::byte> out(size_ - shift_);
    if (!out.empty()) space().copy_to_host(out.data(), data(), {out.size()}).value();
    space().synchronize().value();
    return out;
  }

 private:
  std::size_t size_;
  std::size_t shift_;
  std::byte* made_;
};

std::size_t any_shift(random_source& random) { return pick(random, 2) == 0 ? 0 : pick(random, 33); }
std::uint64_t address(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

zp::mutable_host_view run_of(std::byte* at, zp::dtype type, std::size_t count) {
  const zp::dims shape{static_cast<zp::index_t>(count)};
  return {at, type, shape, zp::row_major_strides(shape, type.size()), {}, {}};
}

/// Says which case a crash was in, and at which address; then the stack, for addr2line, and what
/// memory the process has: a device is seldom at hand a second time, and a core file never.
void tell_of_crash(int signal, siginfo_t* about, void*) {
  const auto* const test = doctest::getContextOptions()->currentTest;
  char line[256];
  const int size =
      std::snprintf(line, sizeof line, "\ngpu_test: signal %d, code %d, at %p, in '%s'\n", signal,
                    about->si_code, about->si_addr, test == nullptr ? "no case" : test->m_name);
  static_cast<void>(!::write(STDERR_FILENO, line, std::min<std::size_t>(size, sizeof line - 1)));
  void* frames[64];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 64), STDERR_FILENO);
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  for (ssize_t got = 0; (got = ::read(maps, line, sizeof line)) > 0;)
    static_cast<void>(!::write(STDERR_FILENO, line, static_cast<std::size_t>(got)));
  ::raise(signal);  // it has its old meaning again
}
void watch_for_crashes() {
  static char stack[std::size_t{256} << 10];
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads what it needs, which a handler must not
  stack_t of_handler{};
  of_handler.ss_sp = stack;
  of_handler.ss_size = sizeof stack;
  ::sigaltstack(&of_handler, nullptr);
  struct sigaction how {};
  how.sa_sigaction = tell_of_crash;
  how.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    ::sigaction(signal, &how, nullptr);
}

}  // namespace

TEST_CASE("move: random boxes, and a large transpose") {
  random_source random(1);
  constexpr std::size_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 100};
  for (int n = 0; n < 500; ++n) {
    CAPTURE(n);
    const std::size_t element = sizes[pick(random, std::size(sizes))];
    const bool is_large = n % 50 == 0;
    const zp::dims shape = is_large ? zp::dims{37, 250, 301} : random_shape(random, 5, 9);
    const layout from = random_layout(random, shape, element, true);
    const layout to = random_layout(random, shape, element);
    const std::vector<std::byte> source = random_bytes(random, from.size);
    std::vector<std::byte> expected = random_bytes(random, to.size);
    const device_bytes device_source(source, any_shift(random));
    const device_bytes device_target(expected, any_shift(random));
    for_each_coordinate(shape, [&](const zp::dims& at) {
      std::memcpy(expected.data() + to.first + offset_of(at, to.strides),
                  source.data() + from.first + offset_of(at, from.strides), element);
    });
    space()
        .move({device_target.data() + to.first, device_source.data() + from.first, element, shape,
               to.strides, from.strides})
        .value();
    REQUIRE(device_target.download() == expected);
  }
}

TEST_CASE("scatter: many short runs, and long ones") {
  random_source random(2);
  for (const std::size_t count : {1UL, 7UL, 300UL, 20'000UL}) {
    CAPTURE(count);
    const std::size_t longest = count < 10 ? 3'000'000 : 2'000;
    const std::size_t piece = longest + 64;
    const std::vector<std::byte> source = random_bytes(random, count * piece);
    std::vector<std::byte> expected(count * piece);
    const device_bytes from(source, any_shift(random));
    const device_bytes to(expected, any_shift(random));
    std::vector<std::byte> table(count * sizeof(zp::device_segment));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bytes = pick(random, longest);
      const std::size_t to_at = i * piece + pick(random, 33);
      const std::size_t from_at = i * piece + pick(random, 33);
      std::memcpy(expected.data() + to_at, source.data() + from_at, bytes);
      const zp::device_segment one{address(to.data() + to_at), address(from.data() + from_at),
                                   bytes};
      std::memcpy(table.data() + i * sizeof one, &one, sizeof one);
    }
    const device_bytes on_device(table, 0);
    space().scatter(reinterpret_cast<const zp::device_segment*>(on_device.data()), count).value();
    REQUIRE(to.download() == expected);
  }
}

TEST_CASE("cast: every pair of dtypes") {
  random_source random(3);
  for (const zp::dtype_kind to_kind : zp::all_dtype_kinds) {
    for (const zp::dtype_kind from_kind : zp::all_dtype_kinds) {
      const zp::dtype to_type(to_kind);
      const zp::dtype from_type(from_kind);
      if (!to_type.is_number() || !from_type.is_number()) continue;
      CAPTURE(std::string(zp::to_string(to_type)));
      CAPTURE(std::string(zp::to_string(from_type)));
      const std::size_t count = 1 + pick(random, 6'000);
      std::vector<std::byte> source = random_bytes(random, count * from_type.size());
      std::vector<std::byte> expected(count * to_type.size());
      // To one type elements go as they are, bits that mean nothing too.
      const device_bytes from(source, any_shift(random));
      const device_bytes to(expected, any_shift(random));
      space().cast({to.data(), to_type, from.data(), from_type, count}).value();
      zp::detail::cast_elements(run_of(expected.data(), to_type, count),
                                run_of(source.data(), from_type, count))
          .value();
      const std::vector<std::byte> actual = to.download();
      if (actual == expected) continue;
      // All but the bits of a NaN.
      const zp::dtype part = to_type.component();
      REQUIRE(part.is_floating());
      for (std::size_t i = 0; i < expected.size(); i += part.size()) {
        std::uint64_t is = 0;
        std::uint64_t should_be = 0;
        std::memcpy(&is, actual.data() + i, part.size());
        std::memcpy(&should_be, expected.data() + i, part.size());
        CAPTURE(i);
        CAPTURE(is);
        CAPTURE(should_be);
        const double a = zp::detail::float_value(part, is);
        const double b = zp::detail::float_value(part, should_be);
        REQUIRE((is == should_be || (a != a && b != b)));
      }
    }
  }
}

TEST_CASE("swap_bytes, unshuffle: sizes, counts and addresses") {
  random_source random(4);
  constexpr std::size_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 37};
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    const std::size_t size = sizes[pick(random, std::size(sizes))];
    std::size_t count = pick(random, n % 20 == 0 ? 2'000'000 : 3'000);
    if (pick(random, 2) == 0) count = count / 16 * 16;
    const std::vector<std::byte> source = random_bytes(random, size * count);
    std::vector<std::byte> swapped(source.size());
    std::vector<std::byte> joined(source.size());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < size; ++k) {
        swapped[i * size + k] = source[i * size + size - 1 - k];
        joined[i * size + k] = source[k * count + i];
      }
    }
    const device_bytes from(source, any_shift(random));
    const device_bytes to(source.size(), any_shift(random));
    space().unshuffle(to.data(), from.data(), size, count).value();
    REQUIRE(to.download() == joined);
    space().swap_bytes(from.data(), size, count).value();
    REQUIRE(from.download() == swapped);
  }
}

TEST_CASE("crc32c: sizes and addresses") {
  random_source random(5);
  const device_bytes result(4, 0);
  for (int n = 0; n < 300; ++n) {
    const std::size_t most = n % 30 == 0 ? 50'000'000 : n % 2 == 0 ? 100'000 : 100;
    const std::vector<std::byte> source = random_bytes(random, pick(random, most));
    CAPTURE(source.size());
    const device_bytes from(source, any_shift(random));
    space().crc32c(result.data(), from.data(), source.size()).value();
    REQUIRE(zp::load_le<std::uint32_t>(result.download().data()) == zp::crc32c(source));
  }
}

TEST_CASE("crc32c: tables, of which the marks of what is right come back") {
  random_source random(15);
  for (int n = 0; n < 100; ++n) {
    CAPTURE(n);
    std::vector<zp::device_checksum> table(1 + pick(random, n % 10 == 0 ? 3'000 : 40));
    std::vector<std::byte> source;
    std::uint64_t expected = 0;
    std::vector<std::size_t> at;
    for (zp::device_checksum& one : table) {
      one.bytes =
          static_cast<std::uint32_t>(1 + pick(random, table.size() < 8 ? 2'000'000 : 9'000));
      at.push_back(source.size());
      const std::vector<std::byte> more = random_bytes(random, (one.bytes + 15) / 16 * 16);
      source.insert(source.end(), more.begin(), more.end());
      one.crc32c = zp::crc32c({source.data() + at.back(), one.bytes});
      one.mark = random();
      if (pick(random, 4) == 0) {
        one.crc32c ^= 1U << pick(random, 32);
      } else {
        expected += one.mark;
      }
    }
    const device_bytes from(source, 0);
    for (std::size_t i = 0; i < table.size(); ++i) table[i].from = address(from.data() + at[i]);
    const zp::bytes_view entries = std::as_bytes(std::span(table));
    const device_bytes there(std::vector<std::byte>(entries.begin(), entries.end()), 0);
    const device_bytes marks(std::vector<std::byte>(8), 0);
    space()
        .compare_crc32c(reinterpret_cast<const zp::device_checksum*>(there.data()), table.size(),
                        marks.data())
        .value();
    REQUIRE(zp::load_le<std::uint64_t>(marks.download().data()) == expected);
  }
}

TEST_CASE("more than 4 GiB, where the device has them") {
  constexpr std::size_t bytes = (std::size_t{5} << 30) + 48;
  auto large = space().allocate(bytes);
  if (!large) {
    MESSAGE("left out: " << large.failure().message);
    return;
  }
  space().fill(*large, std::byte{0x5a}, bytes).value();
  const device_bytes result(4, 0);
  space().crc32c(result.data(), *large, bytes).value();
  // By doubling: what 2^k bytes give, and those of which there is a bit.
  const std::byte one{0x5a};
  std::uint32_t power = zp::crc32c({&one, 1});
  std::uint32_t expected = 0;
  for (std::size_t size = 1; size <= bytes; size *= 2) {
    if ((bytes & size) != 0) expected = zp::detail::crc32c_combine(expected, power, size);
    power = zp::detail::crc32c_combine(power, power, size);
  }
  CHECK(zp::load_le<std::uint32_t>(result.download().data()) == expected);
  const std::vector<std::byte> mark = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  space().copy_from_host(*large + bytes - 4, mark.data(), {4}).value();
  space().swap_bytes(*large, 4, bytes / 4).value();
  std::vector<std::byte> swapped(4);
  space().copy_to_host(swapped.data(), *large + bytes - 4, {4}).value();
  space().synchronize().value();
  CHECK(swapped == std::vector<std::byte>(mark.rbegin(), mark.rend()));
  space().deallocate(*large, bytes);
}

TEST_CASE("save and load: through the ring, with casts, byte order, rows and small tensors") {
  random_source random(6);
  const zp::memory_store store;
  std::vector<float> values(300'007);
  for (float& value : values) value = static_cast<float>(pick(random, 512)) / 4 - 64;
  const auto count = static_cast<zp::index_t>(values.size());
  const auto made = gpu::tensor<float>::from_host(values, {count}, space()).value();
  CHECK(zp::save(store, {{"w", made}}));
  const zp::checkpoint saved = zp::open(store).value();
  const zp::place<gpu::device_space> where{nullptr, space()};
  CHECK(saved.load<std::vector<float>>("w").value() == values);
  CHECK(saved.load<gpu::tensor<float>>("w", where).value().download().value() == values);
  const auto halves = saved.load<gpu::tensor<__half>>("w", where, {.cast = true}).value();
  const std::vector<__half> downloaded = halves.download().value();
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(__half2float(downloaded[i]) == values[i]);
  auto target = gpu::tensor<double>::make({count}, space()).value();
  CHECK(saved.load_into("w", target, {.cast = true}));
  CHECK(target.loaded());
  CHECK(target.download().value() == std::vector<double>(values.begin(), values.end()));
}

TEST_CASE("save and load: byte order, transposed views, many small tensors together") {
  random_source random(7);
  const zp::place<gpu::device_space> where{nullptr, space()};
  std::vector<std::int32_t> values(200 * 300);
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(random());
  const auto made = gpu::tensor<std::int32_t>::from_host(values, {200, 300}, space()).value();
  zp::save_options how;
  zp::leaf_rule rule;
  rule.codecs = {{"bytes", zp::json::object{{"endian", "big"}}}};
  how.rules = {rule};
  const zp::memory_store store;
  REQUIRE(zp::save(store, {{"w", made}}, how));
  const zp::checkpoint big = zp::open(store).value();
  CHECK(big.load<gpu::tensor<std::int32_t>>("w", where).value().download().value() == values);

  auto columns = zp::handler_of<gpu::tensor<std::int32_t>>::view(made);
  columns.shape = {300, 200};
  columns.strides = {4, 1200};
  const zp::memory_store turned;
  REQUIRE(zp::save(turned, {{"columns", columns}}));
  const auto read = zp::open(turned).value().load<zp::tensor>("columns").value();
  const auto* elements = reinterpret_cast<const std::int32_t*>(read.view().data);
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t k = 0; k < 200; ++k) REQUIRE(elements[i * 200 + k] == values[k * 300 + i]);
  }

  constexpr std::size_t count = 500;
  std::vector<gpu::tensor<std::int32_t>> small;
  std::vector<std::string> names;
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = 1 + pick(random, 200);
    const std::span<const std::int32_t> part(values.data() + i * 100, size);
    const zp::dims shape{static_cast<zp::index_t>(size)};
    small.push_back(gpu::tensor<std::int32_t>::from_host(part, shape, space()).value());
    names.push_back("t" + std::to_string(i));
  }
  for (std::size_t i = 0; i < count; ++i) leaves.emplace_back(names[i], small[i]);
  const zp::memory_store many;
  REQUIRE(zp::save(many, leaves));
  for (auto& one : small) space().fill(reinterpret_cast<std::byte*>(one.data()), {}, 4).value();
  std::vector<zp::load_target> targets;
  for (std::size_t i = 0; i < count; ++i) targets.emplace_back(names[i], small[i]);
  REQUIRE(zp::load_into_all(zp::open(many).value(), targets));
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::int32_t> back = small[i].download().value();
    REQUIRE(std::memcmp(back.data(), values.data() + i * 100, 4 * back.size()) == 0);
  }
}

namespace {

/// Elements as weights have them, with runs, few values, or none that a code is good for.
std::vector<std::byte> elements_of(random_source& random, zp::dtype type, std::size_t count) {
  std::vector<std::byte> out = random_bytes(random, count * type.size());
  const std::size_t kind = pick(random, 6);
  if (kind == 0) return out;
  const std::size_t few = std::size_t{1} << (1 + pick(random, 7));
  for (std::size_t i = 0; i < out.size(); ++i) {
    // Bytes of high places have few values, those that are rare the rarer.
    const bool is_high = i % type.size() + 1 == type.size();
    const std::size_t scale = kind == 1 ? 1 : pick(random, few) + 1;
    if (is_high || kind == 2) out[i] = static_cast<std::byte>(pick(random, scale));
    if (kind == 3 && i > 100'000) out[i] = std::byte{7};
  }
  return out;
}

zp::leaf_rule rule_of(random_source& random, std::size_t count) {
  zp::leaf_rule out;
  const int level = static_cast<int>(pick(random, 10));
  out.codecs = pick(random, 4) != 0 ? zp::blosc_codecs(pick(random, 2) == 0 ? 1 : level)
                                    : zp::zstd_codecs(1);
  if (count > 20 && pick(random, 2) == 0) {
    const std::size_t chunk = 1 + pick(random, count);
    out.chunk_shape = zp::dims{static_cast<zp::index_t>(std::max(chunk, count / 20))};
  }
  return out;
}

}  // namespace

TEST_CASE("compressed: loads to the device bring what was saved") {
  random_source random(8);
  constexpr zp::dtype_kind kinds[] = {zp::dtype_kind::bfloat16,      zp::dtype_kind::float16,
                                      zp::dtype_kind::float8_e4m3fn, zp::dtype_kind::float32,
                                      zp::dtype_kind::float64,       zp::dtype_kind::int32,
                                      zp::dtype_kind::complex64};
  for (int n = 0; n < 120; ++n) {
    CAPTURE(n);
    const std::size_t leaf_count = n % 20 == 0 ? 40 : 1 + pick(random, 3);
    std::vector<std::vector<std::byte>> values;
    std::vector<gpu::tensor_any> targets;
    std::vector<zp::leaf> leaves;
    zp::save_options how;
    for (std::size_t i = 0; i < leaf_count; ++i) {
      const zp::dtype type(kinds[pick(random, std::size(kinds))]);
      const std::size_t count = 1 + pick(random, n % 8 == 1 ? 2'000'000 : 70'000);
      values.push_back(elements_of(random, type, count));
      const zp::tensor_spec spec{type, {static_cast<zp::index_t>(count)}};
      targets.push_back(gpu::tensor_any::make(spec, space()).value());
      space().fill(targets.back().data(), std::byte{0xa5}, targets.back().bytes()).value();
      leaves.emplace_back("t" + std::to_string(i), zp::dense_view(values.back().data(), spec));
      how.rules.push_back(rule_of(random, count));
      how.rules.back().glob = "t" + std::to_string(i);
    }
    const zp::memory_store store;
    zp::save(store, leaves, how).value();
    std::vector<zp::load_target> wanted;
    for (std::size_t i = 0; i < leaf_count; ++i)
      wanted.emplace_back("t" + std::to_string(i), targets[i]);
    zp::load_into_all(zp::open(store).value(), wanted, {.device_verify = n % 2 == 0}).value();
    for (std::size_t i = 0; i < leaf_count; ++i) {
      CAPTURE(i);
      std::vector<std::byte> seen(values[i].size());
      targets[i].download(seen).value();
      REQUIRE(seen == values[i]);
    }
  }
}

TEST_CASE("compressed: saves that the device encodes are what the host decodes") {
  random_source random(9);
  constexpr zp::dtype_kind kinds[] = {zp::dtype_kind::bfloat16,      zp::dtype_kind::float16,
                                      zp::dtype_kind::float8_e4m3fn, zp::dtype_kind::float32,
                                      zp::dtype_kind::float64,       zp::dtype_kind::int32,
                                      zp::dtype_kind::complex64};
  for (int n = 0; n < 60; ++n) {
    CAPTURE(n);
    const zp::dtype type(kinds[pick(random, std::size(kinds))]);
    const zp::dims shape{static_cast<zp::index_t>(1 + pick(random, 900)), 1024};
    const auto count = static_cast<std::size_t>(shape[0]) * 1024;
    const std::vector<std::byte> values = elements_of(random, type, count);
    gpu::tensor_any source = gpu::tensor_any::make({type, shape}, space()).value();
    space().copy_from_host(source.data(), values.data(), {.width = values.size()}).value();
    space().synchronize().value();
    zp::leaf_rule rule{.codecs = zp::blosc_codecs()};
    // Whole rows, or columns, which a kernel gathers first.
    rule.chunk_shape = zp::dims{static_cast<zp::index_t>(64 + pick(random, 200)),
                                n % 3 == 0 ? zp::index_t{512} : zp::index_t{1024}};
    const zp::memory_store store;
    zp::save(store, {{"w", source}}, {.rules = {rule}, .device_encode = true}).value();
    const zp::tensor seen = zp::open(store).value().load<zp::tensor>("w").value();
    REQUIRE(seen.spec() == zp::tensor_spec{type, shape});
    REQUIRE(std::memcmp(seen.view().data, values.data(), values.size()) == 0);
  }
}

TEST_CASE(
    "compressed: damaged bytes without a checksum are to the device what they are to a host") {
  random_source random(9);
  for (int n = 0; n < 300; ++n) {
    CAPTURE(n);
    const std::size_t count = 1 + pick(random, 300'000);
    const zp::dtype type(zp::dtype_kind::bfloat16);
    const std::vector<std::byte> values = elements_of(random, type, count);
    const zp::tensor_spec spec{type, {static_cast<zp::index_t>(count)}};
    std::vector<zp::codec_spec> codecs = zp::blosc_codecs();
    codecs.pop_back();
    zp::leaf_rule rule;
    rule.codecs = codecs;
    zp::save_options how;
    how.rules = {rule};
    const zp::memory_store store;
    zp::save(store, {{"w", zp::dense_view(values.data(), spec)}}, how).value();
    const zp::store_key key = zp::store_key::parse("w/c.0").value();
    const auto blob = store.open(key).value();
    std::vector<std::byte> stored(blob->size());
    blob->read(0, stored).value();
    for (std::size_t flips = 1 + pick(random, 3); flips != 0; --flips) {
      const std::size_t near =
          pick(random, 2) == 0 ? std::min<std::size_t>(stored.size(), 400) : stored.size();
      stored[pick(random, near)] ^= static_cast<std::byte>(1U << pick(random, 8));
    }
    store.put(key, stored).value();
    const zp::checkpoint opened = zp::open(store).value();
    gpu::tensor_any target = gpu::tensor_any::make(spec, space()).value();
    const auto there = opened.load_into("w", target, {.verify = false});
    const auto here = opened.load<zp::tensor>("w", {}, {.verify = false});
    CHECK(there.has_value() == here.has_value());
    if (!there || !here) continue;
    std::vector<std::byte> seen(values.size());
    target.download(seen).value();
    CHECK(std::memcmp(seen.data(), here->view().data, seen.size()) == 0);
  }
}

TEST_CASE("compressed: checksums compared on the device, whose damage has the host's error") {
  random_source random(19);
  const zp::tensor_spec spec{zp::dtype_kind::bfloat16, {300'000}};
  const std::vector<std::byte> values = elements_of(random, spec.type, 300'000);
  const zp::memory_store store;
  zp::save(store, {{"w", zp::dense_view(values.data(), spec)}},
           {.rules = {{.codecs = zp::blosc_codecs()}}})
      .value();
  const zp::store_key key = zp::store_key::parse("w/c.0").value();
  const auto blob = store.open(key).value();
  std::vector<std::byte> good(blob->size());
  blob->read(0, good).value();
  gpu::tensor_any target = gpu::tensor_any::make(spec, space()).value();
  for (int n = 0; n < 100; ++n) {
    CAPTURE(n);
    std::vector<std::byte> stored = good;
    const std::size_t near = n % 2 == 0 ? std::min<std::size_t>(stored.size(), 400) : stored.size();
    stored[pick(random, near)] ^= static_cast<std::byte>(1U << pick(random, 8));
    store.put(key, stored).value();
    const zp::checkpoint opened = zp::open(store).value();
    const auto there = opened.load_into("w", target, {.device_verify = true});
    const auto by_host = opened.load_into("w", target);
    REQUIRE_FALSE(there);
    REQUIRE_FALSE(by_host);
    CHECK(there.failure().message == by_host.failure().message);
  }
}

TEST_CASE("errors: what the runtime says of a bad request") {
  const auto huge = space().allocate(std::size_t{1} << 60);
  REQUIRE(!huge);
  CHECK(huge.failure().code == zp::errc::resource_limit);
  int on_host = 0;
  const auto checked = space().check(reinterpret_cast<const std::byte*>(&on_host), 4);
  REQUIRE(!checked);
  CHECK(checked.failure().code == zp::errc::invalid_argument);
  CHECK(space().synchronize());
}

int main(int argc, char** argv) {
  watch_for_crashes();
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices);
      status != cudaSuccess || devices == 0) {
    std::printf("gpu_test: skipped, no CUDA device: %s\n", cudaGetErrorString(status));
    return 77;
  }
  cudaDeviceProp facts{};
  if (cudaGetDeviceProperties(&facts, 0) == cudaSuccess) std::printf("gpu_test: %s\n", facts.name);
  return doctest::Context(argc, argv).run();
}
